import { gib, kernel, snapshot } from '../../__tests__/mockup';
import { Sparklines } from '../sparklines';

describe('Sparklines', () => {
  let lines: Sparklines;

  beforeEach(() => {
    lines = new Sparklines();
  });

  const see = (second: number, size: number | null) =>
    lines.see(
      snapshot({
        taken_at: 1000 + second,
        kernels: [kernel('a.ipynb', { 'GPU-0': size }, 1)]
      })
    );

  const points = () =>
    lines.get('a').map(bytes => (bytes === null ? null : bytes / gib(1)));

  it('keeps the largest of every ten seconds', () => {
    see(0, 1);
    see(5, 3);
    see(9, 2);
    see(10, 1);
    expect(points()).toEqual([3, 1]);
  });

  it('leaves a gap where nothing was read', () => {
    see(0, 1);
    see(35, 2);
    expect(points()).toEqual([1, null, null, 2]);
  });

  it('does not take an unknown size for zero', () => {
    see(0, 1);
    see(10, null);
    see(20, 0);
    expect(points()).toEqual([1, null, 0]);
  });

  it('begins with the first memory', () => {
    see(0, 0);
    see(10, 0);
    see(20, 4);
    expect(points()).toEqual([4]);
  });

  it('holds ten minutes and no more', () => {
    for (let step = 0; step < 100; step++) {
      see(10 * step, step + 1);
    }
    expect(points()).toHaveLength(60);
    expect(points()[0]).toBe(41);
    expect(points()[59]).toBe(100);
  });

  it('starts anew after a long absence', () => {
    see(0, 1);
    see(3600, 2);
    expect(points()).toEqual([2]);
  });

  it('survives a clock that was set back', () => {
    see(100, 1);
    see(20, 2);
    expect(points()).toEqual([2]);
  });

  it('forgets a kernel that has ended', () => {
    see(0, 1);
    lines.see(snapshot({ taken_at: 1010 }));
    expect(points()).toEqual([]);
  });
});
