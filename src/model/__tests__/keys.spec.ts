import { gib, kernel, snapshot } from '../../__tests__/mockup';
import { holdsGpuMemory, KernelKeys, letterOf } from '../keys';

describe('letterOf', () => {
  it.each([
    [0, 'A'],
    [25, 'Z'],
    [26, 'AA'],
    [27, 'AB'],
    [51, 'AZ'],
    [52, 'BA'],
    [701, 'ZZ'],
    [702, 'AAA']
  ])('%d is %s', (index, letter) => {
    expect(letterOf(index)).toBe(letter);
  });
});

describe('holdsGpuMemory', () => {
  it('takes a size that the driver hides for memory', () => {
    expect(holdsGpuMemory(kernel('a.ipynb', { 'GPU-0': null }, 1))).toBe(true);
  });

  it('takes a measured zero for none', () => {
    expect(holdsGpuMemory(kernel('a.ipynb', { 'GPU-0': 0 }, 1))).toBe(false);
    expect(holdsGpuMemory(kernel('a.ipynb', {}, 1))).toBe(false);
  });

  it('takes a total that no GPU accounts for as memory', () => {
    const total = kernel('a.ipynb', {}, 1, { bytes: gib(1) });
    expect(holdsGpuMemory(total)).toBe(true);
  });
});

describe('KernelKeys', () => {
  const see = (keys: KernelKeys, sizes: Record<string, number>) =>
    keys.see(
      snapshot({
        kernels: Object.entries(sizes).map(([name, size]) =>
          kernel(`${name}.ipynb`, { 'GPU-0': size }, 1)
        )
      })
    );

  it('starts with the largest, and gives none without memory', () => {
    const keys = new KernelKeys();
    see(keys, { small: 1, large: 2, none: 0 });
    expect(keys.get('large')).toEqual({ letter: 'A', index: 0 });
    expect(keys.get('small')).toEqual({ letter: 'B', index: 1 });
    expect(keys.get('none')).toBeNull();
  });

  it('keeps a letter whatever the size becomes', () => {
    const keys = new KernelKeys();
    see(keys, { one: 2, two: 1 });
    see(keys, { one: 0, two: 9 });
    expect(keys.get('one')?.letter).toBe('A');
    expect(keys.get('two')?.letter).toBe('B');
  });

  it('gives the letter of an ended kernel to the next', () => {
    const keys = new KernelKeys();
    see(keys, { one: 3, two: 2, three: 1 });
    see(keys, { one: 3, three: 1 });
    expect(keys.get('two')).toBeNull();
    see(keys, { one: 3, three: 1, four: 1, five: 0.5 });
    expect(keys.get('three')?.letter).toBe('C');
    expect(keys.get('four')?.letter).toBe('B');
    expect(keys.get('five')?.letter).toBe('D');
  });
});
