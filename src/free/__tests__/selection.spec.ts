import { gib } from '../../__tests__/mockup';
import { fullPlan, holder, HOLDERS, plan, remedy } from '../../__tests__/plans';
import { holderKind } from '../../holders';
import {
  amountOf,
  childrenOf,
  coveredBy,
  initialSelection,
  isInitial,
  stepsOf,
  tickOf,
  toggle,
  totalOf,
  type ISelection,
  type RemedyId
} from '../selection';
import { language } from './fakes';

const select = (
  change: Partial<ISelection>,
  from = initialSelection(plan({ remedies: [] }))
): ISelection => ({ ...from, ...change });
const ticked = (...ids: RemedyId[]) => select({ ticks: new Set(ids) });
const find = (from: ReturnType<typeof plan>, id: RemedyId) =>
  from.remedies.find(remedy => remedy.id === id)!;

describe('ticks', () => {
  it('opens with what is offered by default only', () => {
    const opened = plan({
      remedies: [
        remedy('collect', null, { default: true, offered: false }),
        remedy('release-cache', 3.8, { default: true }),
        remedy('restart', 11.2)
      ]
    });
    const selection = initialSelection(opened);
    expect([...selection.ticks]).toEqual(['release-cache']);
    expect(isInitial(opened, selection)).toBe(true);
    expect(isInitial(opened, toggle(opened, selection, 'restart'))).toBe(false);
  });

  it('runs gentle steps first, whatever the order of ticks', () => {
    expect(
      stepsOf(plan(), ticked('release-cache', 'unpin-exceptions')).map(
        ({ id }) => id
      )
    ).toEqual(['unpin-exceptions', 'release-cache']);
  });

  it('leaves out what the end of the process covers', () => {
    const ticks = ticked('release-cache', 'restart');
    expect(coveredBy('release-cache', ticks)).toBe('restart');
    expect(coveredBy('restart', ticks)).toBeNull();
    expect(stepsOf(plan(), ticks).map(({ id }) => id)).toEqual(['restart']);
  });

  it('leaves out what parking moves, and nothing else', () => {
    const selection = select({
      ticks: new Set<RemedyId>(['park', 'unpin-outputs', 'release-cache']),
      names: new Set(['model'])
    });
    expect(coveredBy('unpin-outputs', selection)).toBe('park');
    expect(coveredBy('delete', selection)).toBe('park');
    expect(coveredBy('release-cache', selection)).toBeNull();
    expect(stepsOf(fullPlan(), selection).map(({ id }) => id)).toEqual([
      'park',
      'release-cache'
    ]);
  });
});

describe('variables', () => {
  const full = fullPlan();

  it('ticks all or none by the step, some by the list', () => {
    const none = initialSelection(full);
    expect(tickOf(full, none, 'delete')).toBe(false);
    const all = toggle(full, none, 'delete');
    expect([...all.names]).toEqual(['emb_matrix', 'model']);
    expect(tickOf(full, all, 'delete')).toBe(true);
    const some = select({ names: new Set(['model']) });
    expect(tickOf(full, some, 'delete')).toBe('some');
    expect(toggle(full, some, 'delete').names.size).toBe(0);
  });

  it('asks for the chosen ones, with what they return', () => {
    const [step] = stepsOf(full, select({ names: new Set(['emb_matrix']) }));
    expect(step.request).toEqual({ id: 'delete', names: ['emb_matrix'] });
    expect(step.amount).toEqual({ bytes: gib(3.3), is: 'exact' });
  });

  it('shows what all would return until one is chosen', () => {
    expect(
      amountOf(full, initialSelection(full), find(full, 'delete'))
    ).toEqual({ bytes: gib(4.2), is: 'at-most' });
  });

  it('knows that two return more than each alone, where they share', () => {
    const shared = fullPlan({
      holders_in_kernel: [
        holder('a', 3, { gain: gib(1) }),
        holder('b', 1, { gain: gib(1) })
      ]
    });
    const one = select({ names: new Set(['a']) });
    const both = select({ names: new Set(['a', 'b']) });
    const step = find(shared, 'delete');
    expect(amountOf(shared, one, step).is).toBe('exact');
    expect(amountOf(shared, both, step)).toEqual({
      bytes: gib(2),
      is: 'at-least'
    });
  });

  it('promises nothing where the kernel can’t tell', () => {
    const open = fullPlan({
      holders_in_kernel: [holder('a', 3, { gain: null })]
    });
    expect(
      amountOf(open, select({ names: new Set(['a']) }), find(open, 'delete'))
    ).toEqual({ bytes: null, is: 'unknown' });
  });
});

it('tells by which other names memory would stay', () => {
  const both = holder('batch', 1, { dtype: 'float32', also: ['x', 'Out[3]'] });
  expect(holderKind(language, both)).toBe(
    'Tensor float32 · also by x and Out[3]'
  );
});

describe('processes', () => {
  const child = (pid: number, gpu: string, size: number | null) => ({
    pid,
    started_at: 5,
    name: 'python',
    gpu,
    bytes: size === null ? null : gib(size)
  });
  const several = plan({
    children: [
      child(7, 'GPU-0', 1),
      child(7, 'GPU-1', 2),
      child(8, 'GPU-0', 4)
    ],
    remedies: [remedy('end-children', 7)]
  });

  it('counts a process on two GPUs once, with both figures', () => {
    expect(childrenOf(several).map(({ pid, bytes }) => [pid, bytes])).toEqual([
      [7, gib(3)],
      [8, gib(4)]
    ]);
  });

  it('ends the chosen ones', () => {
    const [step] = stepsOf(several, select({ pids: new Set([7]) }));
    expect(step.request).toEqual({ id: 'end-children', pids: [7] });
    expect(step.amount).toEqual({ bytes: gib(3), is: 'exact' });
    expect(
      tickOf(several, select({ pids: new Set([7]) }), 'end-children')
    ).toBe('some');
  });
});

describe('park', () => {
  const full = fullPlan();
  const park = find(full, 'park');

  it('moves what the other ticked steps leave', () => {
    const selection = select({
      ticks: new Set<RemedyId>(['unpin-exceptions', 'unpin-outputs']),
      names: new Set(['emb_matrix'])
    });
    expect(amountOf(full, selection, park)).toEqual({
      bytes: gib(6.9) - gib(2.1) - gib(0.6) - gib(3.3),
      is: 'exact'
    });
  });

  it('moves all where it covers them', () => {
    expect(amountOf(full, ticked('park', 'unpin-exceptions'), park)).toEqual({
      bytes: gib(6.9),
      is: 'exact'
    });
  });
});

describe('requests', () => {
  it('clears every output only where asked to', () => {
    const full = fullPlan();
    const [some] = stepsOf(full, ticked('unpin-outputs'));
    expect(some.request).toEqual({ id: 'unpin-outputs' });
    const [all] = stepsOf(full, {
      ...ticked('unpin-outputs'),
      everyOutput: true
    });
    expect(all.request).toEqual({ id: 'unpin-outputs', all: true });
  });

  it('restarts where it was told', () => {
    const [step] = stepsOf(plan(), { ...ticked('restart'), place: 'cpu' });
    expect(step.request).toEqual({ id: 'restart', place: 'cpu' });
  });
});

it('never adds up to more than the kernel holds', () => {
  const total = (full: ReturnType<typeof plan>, ...ids: RemedyId[]) =>
    totalOf(full, stepsOf(full, ticked(...ids))).bytes;
  const both = gib(6.9) + gib(3.8);
  expect(total(fullPlan({ bytes: gib(10) }), 'release-cache', 'park')).toBe(
    gib(10)
  );
  expect(total(fullPlan(), 'release-cache', 'park')).toBe(both);
});

it('counts the caches that other steps release, too', () => {
  const full = fullPlan();
  const total = (...ids: RemedyId[]) =>
    totalOf(full, stepsOf(full, ticked(...ids))).bytes;
  expect(total('park')).toBe(gib(6.9) + gib(3.8));
  expect(total('unpin-outputs')).toBe(gib(0.6) + gib(3.8));
  expect(total('restart')).toBe(gib(11.2));
});

it('adds its own figures up', () => {
  const sum = HOLDERS.reduce((total, { bytes }) => total + bytes!, 0);
  expect(sum / gib(1)).toBeCloseTo(6.9);
});
