import type { TranslationBundle } from '@jupyterlab/translation';
import { baseName } from '../names';
import type { Holder, Snapshot } from '../service/wire';
import { sumOfKnown } from '../sums';

/** What a kernel that is gone has left behind on the GPUs. */
export interface ILeftover {
  readonly key: string;
  readonly name: string;
  /** The notebook's full path, null where it isn't known. */
  readonly title: string | null;
  readonly bytes: number | null;
  readonly uuids: string[];
  readonly evidence: string | null;
  /** `startedAt` in seconds since the epoch; without it a process can't be ended safely. */
  readonly processes: { pid: number; startedAt: number | null }[];
}

/** A line under "Other processes". */
export interface IOther {
  readonly key: string;
  readonly name: string;
  readonly bytes: number | null;
  readonly uuids: string[];
  /** How many processes, null where nobody knows. */
  readonly count: number | null;
  /** Why it can't be named, for the tooltip. */
  readonly reason: string | null;
}

/** Leftovers, one line for each kernel that is gone, largest first. */
export function leftovers(
  trans: TranslationBundle,
  snapshot: Snapshot
): ILeftover[] {
  const groups = groupBy(
    snapshot.holders.filter(({ kind }) => kind === 'leftover'),
    ({ kernel_id, pid }) => kernel_id ?? `${pid}`
  );
  return [...groups]
    .map(([key, holders]) => ({
      key,
      name:
        first(holders, ({ notebook }) => notebook && baseName(notebook)) ??
        first(holders, ({ name }) => name) ??
        trans.__('Unnamed process'),
      title: first(holders, ({ notebook }) => notebook),
      bytes: sumOfKnown(holders.map(({ bytes }) => bytes)),
      uuids: unique(holders.map(({ gpu }) => gpu)),
      evidence: first(holders, ({ evidence }) => evidence),
      processes: [
        ...new Map(
          holders.map(({ pid, started_at }) => [
            pid,
            { pid, startedAt: started_at }
          ])
        ).values()
      ]
    }))
    .sort((a, b) => (b.bytes ?? -1) - (a.bytes ?? -1));
}

/**
 * Everything that is no kernel of this server and no leftover. Other users are one total: size
 * only, no names.
 */
export function others(trans: TranslationBundle, snapshot: Snapshot): IOther[] {
  const outside = snapshot.views.processes !== 'all';
  const groups = groupBy(
    snapshot.holders.filter(
      ({ kind }) => kind !== 'kernel' && kind !== 'leftover'
    ),
    holder => {
      switch (holder.kind) {
        case 'own':
        case 'other-kernel':
          return `${holder.kind} ${holder.name ?? holder.pid}`;
        case 'shared':
          return 'system';
        default:
          return holder.kind;
      }
    }
  );
  const lines: IOther[] = [...groups].map(([key, holders]) => ({
    key,
    name: otherName(trans, holders[0], outside),
    bytes: sumOfKnown(holders.map(({ bytes }) => bytes)),
    uuids: unique(holders.map(({ gpu }) => gpu)),
    count: unique(holders.map(({ pid }) => `${pid}`)).length,
    reason: holders[0].kind === 'other-user' ? null : holders[0].evidence
  }));
  const rest = snapshot.unattributed.filter(({ bytes }) => bytes > 0);
  if (rest.length > 0) {
    lines.push({
      key: 'unattributed',
      name: outside
        ? trans.__('Outside this container')
        : trans.__('Not attributed'),
      bytes: sumOfKnown(rest.map(({ bytes }) => bytes)),
      uuids: unique(rest.map(({ gpu }) => gpu)),
      count: null,
      reason: unique(rest.map(({ reason }) => reason)).join(' ')
    });
  }
  return lines.sort((a, b) => (b.bytes ?? -1) - (a.bytes ?? -1));
}

function otherName(
  trans: TranslationBundle,
  holder: Holder,
  outside: boolean
): string {
  switch (holder.kind) {
    case 'other-user':
      return trans.__('Other users');
    case 'system':
    case 'shared':
      return trans.__('Desktop and system');
    case 'other-kernel':
      return holder.name === null
        ? trans.__('Kernel of another server')
        : trans.__('%1 (another server)', holder.name);
    case 'own':
      return holder.name ?? trans.__('Unnamed process');
    default:
      return outside
        ? trans.__('Processes outside this container')
        : trans.__('Processes that this system does not show');
  }
}

/** What `read` first finds. */
function first<T>(
  values: readonly T[],
  read: (value: T) => string | null
): string | null {
  for (const value of values) {
    const found = read(value);
    if (found !== null) {
      return found;
    }
  }
  return null;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}

function groupBy<T>(
  values: readonly T[],
  keyOf: (value: T) => string
): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    groups.set(key, [...(groups.get(key) ?? []), value]);
  }
  return groups;
}
