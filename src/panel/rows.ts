import type { TranslationBundle } from '@jupyterlab/translation';
import { formatAge, formatBytes } from '../format';
import type { Kernel, Snapshot, Thresholds } from '../service/wire';
import { gpuList } from '../gpus';
import { idleText, stateWord } from '../kernelstate';
import { kernelPath } from '../names';

/** What a kernel is doing, as the row draws it. */
export type RowState = 'busy' | 'idle' | 'long-idle' | 'parked' | 'unknown';

/** A kernel as one line of a list: words and figures only, so that rows compare cheaply. */
export interface IKernelRow {
  readonly id: string;
  readonly name: string;
  /** Full path, for the tooltip and to open it; null without a notebook. */
  readonly path: string | null;
  readonly state: RowState;
  /** `idle 2 h`, `busy · 4 min`, `6.9 GiB in RAM`, … */
  readonly status: string;
  /** The same for narrow columns: `2 h`, `busy`. */
  readonly shortStatus: string;
  /** Seconds since the last activity of an idle kernel, else null. */
  readonly idle: number | null;
  /** `GPU 0, 1` */
  readonly gpus: string;
  /** Their uuids, joined by a space. */
  readonly uuids: string;
  readonly bytes: number | null;
  /** The figure is the framework's, not the driver's. */
  readonly approximate: boolean;
  readonly size: string;
  /** The row in a sentence, for assistive technology. */
  readonly sentence: string;
}

export interface IRowOptions {
  trans: TranslationBundle;
  locale?: string;
  thresholds: Thresholds;
  names: ReadonlyMap<string, string>;
  /** The reading is old: what a kernel did then says nothing of now. */
  stale?: boolean;
  /** Kernels that free memory as soon as they are idle. */
  waiting?: ReadonlySet<string>;
  /** Since when this browser has seen a kernel busy, in seconds of the server's clock. */
  busySince?: ReadonlyMap<string, number>;
}

/** The lists that the panel shows. */
export interface IKernelRows {
  /** Kernels that hold GPU memory, or whose size nobody knows; largest first. */
  readonly holding: IKernelRow[];
  /** Kernels measured to hold none, by name. */
  readonly without: IKernelRow[];
  /** What `holding` holds together; null where no size is known. */
  readonly total: number | null;
  readonly approximate: boolean;
}

/** Sort a reading's kernels into the panel's lists. */
export function kernelRows(
  snapshot: Snapshot,
  options: IRowOptions
): IKernelRows {
  const guessed = new Set(
    snapshot.holders
      .filter(
        ({ bytes_from }) => bytes_from !== null && bytes_from !== 'driver'
      )
      .map(({ kernel_id }) => kernel_id)
  );
  const holding: IKernelRow[] = [];
  const without: IKernelRow[] = [];
  for (const kernel of snapshot.kernels) {
    const list = kernel.bytes === 0 && !kernel.parked ? without : holding;
    list.push(kernelRow(kernel, snapshot, guessed.has(kernel.id), options));
  }
  const collator = new Intl.Collator(options.locale, { numeric: true });
  const byName = (a: IKernelRow, b: IKernelRow): number =>
    collator.compare(a.name, b.name) || (a.id < b.id ? -1 : 1);
  holding.sort((a, b) => (b.bytes ?? -1) - (a.bytes ?? -1) || byName(a, b));
  without.sort(byName);
  const known = holding.filter(({ bytes }) => bytes !== null);
  return {
    holding,
    without,
    total:
      holding.length > 0 && known.length === 0
        ? null
        : known.reduce((sum, { bytes }) => sum + bytes!, 0),
    approximate: known.some(({ approximate }) => approximate)
  };
}

function kernelRow(
  kernel: Kernel,
  snapshot: Snapshot,
  approximate: boolean,
  options: IRowOptions
): IKernelRow {
  const { trans, locale } = options;
  const uuids = Object.keys(kernel.gpus);
  const gpus = gpuList(trans, uuids, snapshot);
  const size = formatBytes(kernel.bytes, { approximate, locale });
  const idle =
    kernel.state === 'idle' && kernel.last_activity !== null
      ? Math.max(0, snapshot.taken_at - kernel.last_activity)
      : null;
  const { state, status, shortStatus } = activity(
    kernel,
    snapshot,
    idle,
    options
  );
  const name = options.names.get(kernel.id)!;
  return {
    id: kernel.id,
    name,
    path: kernelPath(kernel),
    state,
    status,
    shortStatus,
    idle,
    gpus,
    uuids: uuids.join(' '),
    bytes: kernel.bytes,
    approximate,
    size,
    sentence:
      kernel.bytes === null
        ? trans.__('%1, size unknown, %2', name, status)
        : uuids.length === 0
          ? trans.__('%1, %2, %3', name, size, status)
          : trans.__('%1, %2 on %3, %4', name, size, gpus, status)
  };
}

function activity(
  kernel: Kernel,
  snapshot: Snapshot,
  idle: number | null,
  { trans, locale, thresholds, stale, waiting, busySince }: IRowOptions
): Pick<IKernelRow, 'state' | 'status' | 'shortStatus'> {
  const same = (state: RowState, status: string) => ({
    state,
    status,
    shortStatus: status
  });
  if (kernel.parked) {
    return same(
      'parked',
      trans.__('%1 in RAM', formatBytes(kernel.parked, { locale }))
    );
  }
  if (kernel.host !== null) {
    return same('unknown', trans.__('runs on another computer'));
  }
  if (kernel.bytes === null) {
    return same(
      'unknown',
      snapshot.views.sizes === 'all'
        ? trans.__('size not known')
        : trans.__('hidden by the driver')
    );
  }
  switch (kernel.state) {
    case 'busy': {
      if (stale) {
        return same('unknown', trans.__('was busy'));
      }
      if (waiting?.has(kernel.id)) {
        return same('busy', trans.__('frees when idle'));
      }
      const since = busySince?.get(kernel.id);
      const seconds = since === undefined ? 0 : snapshot.taken_at - since;
      return {
        state: 'busy',
        status:
          seconds < 60
            ? trans.__('busy')
            : trans.__('busy · %1', formatAge(trans, seconds)),
        shortStatus: trans.__('busy')
      };
    }
    case 'idle': {
      if (stale) {
        return same('unknown', trans.__('was idle'));
      }
      if (idle === null || idle < 60) {
        return same('idle', idleText(trans, idle));
      }
      const age = formatAge(trans, idle);
      return {
        state: idle >= thresholds.long_idle ? 'long-idle' : 'idle',
        status: idleText(trans, idle),
        shortStatus: age
      };
    }
    default:
      return same(
        'unknown',
        stateWord(trans, kernel.state) ?? trans.__('state not known')
      );
  }
}

/**
 * Remember since when kernels are busy. Only a change that was seen counts: how long a kernel had
 * been busy before the first reading, nobody here knows.
 *
 * @param since - Kernel to the moment it became busy; changed in place.
 * @param before - Kernels of the reading before, null at first.
 */
export function trackBusy(
  since: Map<string, number>,
  before: Snapshot | null,
  now: Snapshot
): void {
  const idle = new Set(
    before?.kernels.filter(({ state }) => state === 'idle').map(({ id }) => id)
  );
  const busy = new Set(
    now.kernels.filter(({ state }) => state === 'busy').map(({ id }) => id)
  );
  for (const id of since.keys()) {
    if (!busy.has(id)) {
      since.delete(id);
    }
  }
  for (const id of busy) {
    if (idle.has(id)) {
      since.set(id, now.taken_at);
    }
  }
}
