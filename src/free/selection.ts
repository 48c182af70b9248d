import type { HolderInKernel, Plan, Remedy, RunStep } from '../service/wire';
import { addAmounts, gainOf, within, type IAmount } from './amounts';

export type RemedyId = Remedy['id'];

/** What a person chose in a plan. */
export interface ISelection {
  /** The ids that were ticked; covered ones may be among them. */
  readonly ticks: ReadonlySet<RemedyId>;
  /** The variables that `delete` is for; none: it is not ticked. */
  readonly names: ReadonlySet<string>;
  /** The processes that `end-children` is for; none: it is not ticked. */
  readonly pids: ReadonlySet<number>;
  /** `unpin-outputs` clears every entry, not only those that hold GPU memory. */
  readonly everyOutput: boolean;
  /** Where `restart` restarts: a GPU's uuid or `cpu`; null = where it is now. */
  readonly place: string | null;
  /** After a restart, run the notebook up to its current cell. */
  readonly runAgain: boolean;
}

/** A step that will run. */
export interface IPlanStep {
  readonly id: RemedyId;
  readonly amount: IAmount;
  readonly request: RunStep;
}

/** Gentle to drastic: the order in which ticked steps run. */
const ORDER: readonly RemedyId[] = [
  'interrupt',
  'collect',
  'unpin-exceptions',
  'unpin-outputs',
  'delete',
  'clear-session',
  'end-children',
  'park',
  'release-cache',
  'restart',
  'shutdown'
];

/** Steps after which no process is left, so that every other step has nothing to do. */
const ENDS_PROCESS: readonly RemedyId[] = ['shutdown', 'restart'];

/** What these would return, `park` takes from the GPU without losing it. */
const PARKABLE: readonly RemedyId[] = [
  'unpin-exceptions',
  'unpin-outputs',
  'delete'
];

/** Steps that release the caches themselves. */
const RELEASES: readonly RemedyId[] = [...PARKABLE, 'park', 'clear-session'];

/**
 * Whether a step is worth showing: with a pool that stays, those that are known to return nothing
 * are not, but for the one that people try first.
 */
export function isWorthShowing({ pools }: Plan, remedy: Remedy): boolean {
  const { bytes, is } = gainOf(remedy);
  return (
    pools.length === 0 ||
    !remedy.offered ||
    remedy.id === 'clear-session' ||
    bytes !== 0 ||
    is !== 'exact'
  );
}

/** What the plan opens with. */
export function initialSelection(plan: Plan): ISelection {
  return {
    ticks: new Set(
      plan.remedies
        .filter(
          remedy =>
            remedy.offered && remedy.default && isWorthShowing(plan, remedy)
        )
        .map(remedy => remedy.id)
    ),
    names: new Set(),
    pids: new Set(),
    everyOutput: false,
    place: null,
    runAgain: false
  };
}

/** Whether the plan is as it opened. */
export function isInitial(plan: Plan, selection: ISelection): boolean {
  const { ticks } = initialSelection(plan);
  return (
    selection.names.size === 0 &&
    selection.pids.size === 0 &&
    ticks.size === selection.ticks.size &&
    [...ticks].every(id => selection.ticks.has(id))
  );
}

/** Tick a step or take the tick away; of one with a list, all of the list. */
export function toggle(
  plan: Plan,
  selection: ISelection,
  id: RemedyId
): ISelection {
  switch (id) {
    case 'delete':
      return {
        ...selection,
        names: selection.names.size > 0 ? new Set() : namesOf(plan)
      };
    case 'end-children':
      return {
        ...selection,
        pids: selection.pids.size > 0 ? new Set() : pidsOf(plan)
      };
    default:
      return { ...selection, ticks: toggled(selection.ticks, id) };
  }
}

/** The set with a value added, or taken out where it was in. */
export function toggled<T>(set: ReadonlySet<T>, value: T): ReadonlySet<T> {
  const next = new Set(set);
  if (!next.delete(value)) {
    next.add(value);
  }
  return next;
}

/** Whether a step is ticked; `some` where only a part of its list is. */
export function tickOf(
  plan: Plan,
  selection: ISelection,
  id: RemedyId
): boolean | 'some' {
  const part = (chosen: number, all: number): boolean | 'some' =>
    chosen > 0 && chosen < all ? 'some' : chosen > 0;
  switch (id) {
    case 'delete':
      return part(selection.names.size, namesOf(plan).size);
    case 'end-children':
      return part(selection.pids.size, pidsOf(plan).size);
    default:
      return selection.ticks.has(id);
  }
}

/** The ticked step that makes this one needless, else null. */
export function coveredBy(
  id: RemedyId,
  { ticks }: ISelection
): RemedyId | null {
  const end = ENDS_PROCESS.find(other => other !== id && ticks.has(other));
  if (end !== undefined) {
    return end;
  }
  return PARKABLE.includes(id) && ticks.has('park') ? 'park' : null;
}

/** The ticked steps that will run, gentle first. */
export function stepsOf(plan: Plan, selection: ISelection): IPlanStep[] {
  return plan.remedies
    .filter(
      ({ id, offered }) =>
        offered &&
        tickOf(plan, selection, id) !== false &&
        coveredBy(id, selection) === null
    )
    .map(remedy => ({
      id: remedy.id,
      amount: amountOf(plan, selection, remedy),
      request: requestOf(selection, remedy.id)
    }))
    .sort((a, b) => ORDER.indexOf(a.id) - ORDER.indexOf(b.id));
}

/** A step as it stands in a plan, with nothing to choose in it. */
export function plainStep(remedy: Remedy): IPlanStep {
  return {
    id: remedy.id,
    amount: gainOf(remedy),
    request: { id: remedy.id }
  };
}

/** What a step returns with what is chosen. */
export function amountOf(
  plan: Plan,
  selection: ISelection,
  remedy: Remedy
): IAmount {
  switch (remedy.id) {
    case 'delete':
      return selection.names.size === 0
        ? gainOf(remedy)
        : gainOfNames(plan, selection.names);
    case 'end-children':
      return selection.pids.size === 0
        ? gainOf(remedy)
        : bytesOfProcesses(plan, selection.pids);
    case 'park':
      return afterOthers(plan, selection, gainOf(remedy));
    default:
      return gainOf(remedy);
  }
}

/**
 * All steps together, never more than the kernel holds. A step that drops or moves something also
 * releases the caches, whether or not that is ticked.
 */
export function totalOf(plan: Plan, steps: readonly IPlanStep[]): IAmount {
  const release = plan.remedies.find(({ id }) => id === 'release-cache');
  const amounts = steps.map(({ amount }) => amount);
  if (
    release?.offered &&
    steps.some(({ id }) => RELEASES.includes(id)) &&
    !steps.some(({ id }) => id === 'release-cache')
  ) {
    amounts.push(gainOf(release));
  }
  return within(addAmounts(amounts), plan.bytes);
}

/** A variable that can be deleted. */
export interface IVariable {
  readonly name: string;
  /** What it keeps in use; the largest first. */
  readonly rows: readonly HolderInKernel[];
  /** Bytes that deleting it alone returns; null = not known. */
  readonly gain: number | null;
}

/** The plan's variables that can be deleted, in its order. */
export function variablesOf(plan: Plan): IVariable[] {
  const rows = new Map<string, HolderInKernel[]>();
  for (const holder of plan.holders_in_kernel) {
    if (holder.name !== null) {
      rows.set(holder.name, [...(rows.get(holder.name) ?? []), holder]);
    }
  }
  return [...rows].map(([name, rows]) => ({ name, rows, gain: rows[0].gain }));
}

/** A process that the kernel started, on all its GPUs together. */
export interface IChild {
  readonly pid: number;
  readonly name: string | null;
  readonly bytes: number | null;
}

/** The processes of the plan, each once. */
export function childrenOf(plan: Plan): IChild[] {
  const children = new Map<number, IChild>();
  for (const { pid, name, bytes } of plan.children) {
    const before = children.get(pid);
    children.set(pid, {
      pid,
      name,
      bytes:
        before === undefined
          ? bytes
          : before.bytes === null || bytes === null
            ? null
            : before.bytes + bytes
    });
  }
  return [...children.values()];
}

function namesOf(plan: Plan): Set<string> {
  return new Set(variablesOf(plan).map(({ name }) => name));
}

function pidsOf(plan: Plan): Set<number> {
  return new Set(plan.children.map(({ pid }) => pid));
}

function gainOfNames(plan: Plan, names: ReadonlySet<string>): IAmount {
  const chosen = variablesOf(plan).filter(({ name }) => names.has(name));
  const total = addAmounts(
    chosen.map(({ gain }) =>
      gainOf({ gain, gain_is: gain === null ? 'unknown' : 'exact' })
    )
  );
  // What two variables share, neither returns alone, but both do together.
  const shares = chosen.some(
    ({ rows, gain }) =>
      gain !== null &&
      rows.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0) > gain
  );
  return chosen.length > 1 && shares && total.is === 'exact'
    ? { ...total, is: 'at-least' }
    : total;
}

function bytesOfProcesses(plan: Plan, pids: ReadonlySet<number>): IAmount {
  return addAmounts(
    childrenOf(plan)
      .filter(({ pid }) => pids.has(pid))
      .map(({ bytes }) =>
        gainOf({ gain: bytes, gain_is: bytes === null ? 'unknown' : 'exact' })
      )
  );
}

/** What is left to park once the other ticked steps have run. */
function afterOthers(
  plan: Plan,
  selection: ISelection,
  whole: IAmount
): IAmount {
  const others = plan.remedies.filter(
    ({ id, offered }) =>
      offered &&
      PARKABLE.includes(id) &&
      tickOf(plan, selection, id) !== false &&
      coveredBy(id, selection) === null
  );
  if (others.length === 0 || whole.bytes === null) {
    return whole;
  }
  const taken = addAmounts(
    others.map(remedy => amountOf(plan, selection, remedy))
  );
  return taken.bytes === null
    ? { bytes: whole.bytes, is: 'at-most' }
    : {
        bytes: Math.max(0, whole.bytes - taken.bytes),
        is: taken.is === 'exact' ? whole.is : 'about'
      };
}

function requestOf(selection: ISelection, id: RemedyId): RunStep {
  switch (id) {
    case 'delete':
      return { id, names: [...selection.names] };
    case 'end-children':
      return { id, pids: [...selection.pids] };
    case 'unpin-outputs':
      return selection.everyOutput ? { id, all: true } : { id };
    case 'restart':
      return selection.place === null ? { id } : { id, place: selection.place };
    default:
      return { id };
  }
}
