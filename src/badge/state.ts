import type { TranslationBundle } from '@jupyterlab/translation';
import { formatAge, formatBytes, formatShare, formatTime } from '../format';
import { holdsGpuMemory } from '../model/keys';
import {
  DEFAULT_THRESHOLDS,
  freeBytes,
  gpuLabel,
  gpuList,
  isHigh,
  usedOfTotal
} from '../gpus';
import type { ILanguage } from '../language';
import { kernelNames } from '../names';
import { remedyLabel } from '../remedylabel';
import type { Gpu, Kernel, Snapshot } from '../service/wire';
import type { IKernelKey, IVramModel } from '../tokens';

/** What a badge shows; plain data, equal when nothing changed on screen. */
export interface IBadgeState {
  readonly kind: 'normal' | 'high' | 'unknown' | 'parked';
  /** What a click does. */
  readonly action: 'open' | 'free' | 'help' | 'restore';
  readonly key: IKernelKey | null;
  /** Shares 0..1 of the fullest GPU that this kernel uses. */
  readonly bar: { readonly others: number; readonly own: number } | null;
  /** `5.4 GiB`. */
  readonly size: string;
  /** `· 94 % full`. */
  readonly note: string | null;
  readonly simulated: boolean;
  /** The figures are old. */
  readonly faded: boolean;
  /** Accessible name, a full sentence. */
  readonly label: string;
  readonly tip: IBadgeTip;
}

/** The text that hover and focus show. */
export interface IBadgeTip {
  readonly title: string;
  /** Label and figure. */
  readonly rows: ReadonlyArray<readonly [string, string]>;
  readonly lines: readonly string[];
}

/** Whether a kernel's figure leaves the driver's word out: shown with `≈`. */
export function isApproximate(snapshot: Snapshot, kernelId: string): boolean {
  return snapshot.holders.some(
    holder =>
      holder.kernel_id === kernelId &&
      holder.bytes_from !== null &&
      holder.bytes_from !== 'driver'
  );
}

/**
 * Whether a kernel may hold memory of a size that nobody can tell: the driver lists its process
 * without a size, or does not show processes here at all.
 */
export function isSizeHidden(snapshot: Snapshot, kernel: Kernel): boolean {
  return (
    kernel.bytes === null &&
    kernel.state !== 'starting' &&
    snapshot.gpus.length > 0 &&
    (holdsGpuMemory(kernel) ||
      Object.keys(kernel.frameworks).length > 0 ||
      snapshot.views.processes === 'none')
  );
}

/** What a notebook's badge shows; null where there is nothing to show. */
export function badgeState(
  model: IVramModel,
  kernelId: string | null,
  language: ILanguage
): IBadgeState | null {
  const { snapshot, status } = model;
  const kernel = kernelId === null ? null : model.kernel(kernelId);
  if (
    snapshot === null ||
    kernel === null ||
    !['live', 'paused', 'stale'].includes(status)
  ) {
    return null;
  }
  const common = {
    key: model.keyOf(kernel.id),
    simulated: snapshot.source === 'simulated',
    faded: status !== 'live' || snapshot.state !== 'ok'
  };
  const particular = kernel.parked
    ? parked(model, snapshot, kernel, kernel.parked, language)
    : isSizeHidden(snapshot, kernel)
      ? hidden(model, snapshot, kernel, language)
      : kernel.bytes
        ? sized(model, snapshot, kernel, language)
        : null;
  if (particular === null) {
    return null;
  }
  const { tip } = particular;
  const done = doneText(model, kernel.id, language);
  // Before the line that says what a click does.
  const lines = [...tip.lines];
  if (done !== null) {
    lines.splice(-1, 0, done);
  }
  return { ...common, ...particular, tip: { ...tip, lines } };
}

type Particular = Omit<IBadgeState, 'key' | 'simulated' | 'faded'>;

/** What was done to the kernel's memory and when, from any browser; null for an hour of nothing. */
function doneText(
  model: IVramModel,
  kernelId: string,
  { trans, locale }: ILanguage
): string | null {
  const notice = model.notice(kernelId);
  const done = notice?.report.steps.filter(({ ok }) => ok) ?? [];
  if (notice === null || done.length === 0) {
    return null;
  }
  const { report } = notice;
  const what = new Intl.ListFormat(locale).format(
    done.map(({ id }) => remedyLabel(trans, id))
  );
  const time = formatTime(report.at, locale);
  return report.freed === null
    ? trans.__('At %1: %2.', time, what)
    : trans.__(
        'At %1: freed %2 (%3).',
        time,
        formatBytes(report.freed, { locale }),
        what
      );
}

function parked(
  model: IVramModel,
  snapshot: Snapshot,
  kernel: Kernel,
  bytes: number,
  language: ILanguage
): Particular {
  const { trans, locale } = language;
  const size = formatBytes(bytes, { locale });
  const gpus = gpuList(trans, Object.keys(kernel.gpus), snapshot);
  const canRestore = model.status !== 'stale';
  return {
    kind: 'parked',
    action: canRestore ? 'restore' : 'open',
    bar: null,
    size: trans.__('Parked · %1 in host RAM', size),
    note: null,
    label: trans.__(
      'The GPU memory of this notebook is parked: %1 in host RAM.',
      size
    ),
    tip: {
      title: trans.__('%1 of this notebook waits in host RAM', size),
      rows: [],
      lines: [
        ...warnings(model, snapshot, language),
        kernel.bytes === null
          ? trans.__('The kernel keeps all variables.')
          : trans.__(
              'The kernel keeps all variables and %1 of %2.',
              formatBytes(kernel.bytes, { locale }),
              gpus
            ),
        trans.__(
          'The next cell you run brings the parked data back if %1 is free.',
          size
        ),
        canRestore
          ? trans.__('Click to restore now.')
          : trans.__('Click to open.')
      ]
    }
  };
}

function sized(
  model: IVramModel,
  snapshot: Snapshot,
  kernel: Kernel,
  language: ILanguage
): Particular {
  const { trans, locale } = language;
  const thresholds = model.config?.thresholds ?? DEFAULT_THRESHOLDS;
  const gpu = fullest(snapshot, kernel);
  const size = formatBytes(kernel.bytes, {
    approximate: isApproximate(snapshot, kernel.id),
    locale
  });
  const gpus = gpuList(trans, Object.keys(kernel.gpus), snapshot);
  const common = { bar: gpu && bar(gpu, kernel), size };
  if (gpu !== null && isHigh(gpu, thresholds)) {
    const label = gpuLabel(trans, gpu, snapshot);
    const full = formatShare(gpu.memory.used! / gpu.memory.total!, locale);
    return {
      ...common,
      kind: 'high',
      // What can't be measured can't be freed either.
      action: model.status === 'stale' ? 'open' : 'free',
      note: trans.__('· %1 full', full),
      label: trans.__(
        'This notebook holds %1. %2 is %3 full.',
        size,
        label,
        full
      ),
      tip: highTip(model, snapshot, kernel, gpu, language)
    };
  }
  return {
    ...common,
    kind: 'normal',
    action: 'open',
    note: null,
    label: trans.__('This notebook holds %1 on %2.', size, gpus),
    tip: {
      title: trans.__('This notebook: %1 on %2', size, gpus),
      rows: ownRows(snapshot, kernel, language),
      lines: [
        ...warnings(model, snapshot, language),
        gpu === null
          ? trans.__('Click to open.')
          : trans.__(
              '%1: %2 free of %3. Click to open.',
              gpuLabel(trans, gpu, snapshot),
              formatBytes(freeBytes(gpu), { locale }),
              formatBytes(gpu.memory.total, { locale })
            )
      ]
    }
  };
}

function hidden(
  model: IVramModel,
  snapshot: Snapshot,
  kernel: Kernel,
  language: ILanguage
): Particular {
  const { trans, locale } = language;
  const gpu =
    fullest(snapshot, kernel) ??
    (snapshot.gpus.length === 1 ? snapshot.gpus[0] : null);
  const why =
    kernel.host !== null
      ? trans.__('This kernel runs on another computer.')
      : (snapshot.views.reason ??
        trans.__(
          'The driver does not report how much GPU memory this notebook holds.'
        ));
  const whole =
    gpu &&
    trans.__(
      '%1 as a whole: %2 used.',
      gpuLabel(trans, gpu, snapshot),
      usedOfTotal(trans, gpu, locale)
    );
  return {
    kind: 'unknown',
    action: 'help',
    bar: null,
    size: trans.__('— GiB'),
    note: null,
    label: trans.__('How much GPU memory this notebook holds is unknown.'),
    tip: {
      title: trans.__('Size unknown'),
      rows: [],
      lines: [
        ...warnings(model, snapshot, language),
        why,
        ...(whole === null ? [] : [whole])
      ]
    }
  };
}

/** The GPU with the least room among those that a kernel uses. */
function fullest(snapshot: Snapshot, kernel: Kernel): Gpu | null {
  const used = snapshot.gpus
    .filter(gpu => gpu.uuid in kernel.gpus && kernel.gpus[gpu.uuid] !== 0)
    .sort((a, b) => share(b) - share(a));
  return used[0] ?? null;
}

function share({ memory }: Gpu): number {
  return memory.used === null || !memory.total ? 0 : memory.used / memory.total;
}

function bar(gpu: Gpu, kernel: Kernel): IBadgeState['bar'] {
  const { used, total, unified } = gpu.memory;
  const own = kernel.gpus[gpu.uuid];
  if (unified || used === null || !total || own === null) {
    return null;
  }
  return { others: Math.max(0, used - own) / total, own: own / total };
}

/** What the kernel's memory is, as its framework last told; else where it is. */
function ownRows(
  snapshot: Snapshot,
  kernel: Kernel,
  { trans, locale }: ILanguage
): IBadgeTip['rows'] {
  const uses = Object.values(kernel.frameworks);
  const sum = (part: 'live' | 'cached' | 'context') => {
    const known = uses.flatMap(use => use[part] ?? []);
    return known.length > 0 ? known.reduce((a, b) => a + b) : null;
  };
  const parts: [string, number | null][] = [
    [trans.__('In use by tensors'), sum('live')],
    [trans.__('Cached, can be freed at once'), sum('cached')],
    [trans.__('Driver context'), sum('context')]
  ];
  const known = parts.filter(([, bytes]) => bytes !== null);
  const places = snapshot.gpus
    .filter(gpu => gpu.uuid in kernel.gpus)
    .map((gpu): [string, number | null] => [
      gpuLabel(trans, gpu, snapshot),
      kernel.gpus[gpu.uuid]
    ]);
  const rows = known.length > 0 ? known : places.length > 1 ? places : [];
  return rows.map(([name, bytes]) => [name, formatBytes(bytes, { locale })]);
}

function highTip(
  model: IVramModel,
  snapshot: Snapshot,
  kernel: Kernel,
  gpu: Gpu,
  language: ILanguage
): IBadgeTip {
  const { trans, locale } = language;
  const names = kernelNames(trans, snapshot.kernels);
  const others = snapshot.kernels
    .filter(other => other.id !== kernel.id && other.gpus[gpu.uuid] !== 0)
    .filter(other => gpu.uuid in other.gpus)
    .sort((a, b) => (b.gpus[gpu.uuid] ?? 0) - (a.gpus[gpu.uuid] ?? 0));
  const listed = [kernel, ...others];
  const rows = listed.map((row): [string, string] => [
    row === kernel
      ? trans.__('This notebook')
      : withIdle(trans, names.get(row.id)!, row, snapshot),
    formatBytes(row.gpus[gpu.uuid], { locale })
  ]);
  const sizes = listed.flatMap(row => row.gpus[gpu.uuid] ?? []);
  if (gpu.memory.used !== null && sizes.length === listed.length) {
    const rest = gpu.memory.used - sizes.reduce((a, b) => a + b, 0);
    if (rest > 0) {
      rows.push([trans.__('Not notebooks'), formatBytes(rest, { locale })]);
    }
  }
  const elsewhere = snapshot.gpus
    .filter(other => other !== gpu && !!kernel.gpus[other.uuid])
    .map(other =>
      trans.__(
        'This notebook also holds %1 on %2.',
        formatBytes(kernel.gpus[other.uuid], { locale }),
        gpuLabel(trans, other, snapshot)
      )
    );
  return {
    title: trans.__(
      '%1 is nearly full: %2 free',
      gpuLabel(trans, gpu, snapshot),
      formatBytes(freeBytes(gpu), { locale })
    ),
    rows,
    lines: [
      ...warnings(model, snapshot, language),
      ...elsewhere,
      model.status === 'stale'
        ? trans.__('Click to open.')
        : trans.__('Click to free memory.')
    ]
  };
}

function withIdle(
  trans: TranslationBundle,
  name: string,
  kernel: Kernel,
  snapshot: Snapshot
): string {
  return kernel.state === 'idle' && kernel.last_activity !== null
    ? trans.__(
        '%1, idle %2',
        name,
        formatAge(trans, snapshot.taken_at - kernel.last_activity)
      )
    : name;
}

/** Why the figures may not be what they seem. */
function warnings(
  model: IVramModel,
  snapshot: Snapshot,
  { trans, locale }: ILanguage
): string[] {
  const time = formatTime(snapshot.taken_at, locale);
  const lines: string[] = [];
  if (snapshot.source === 'simulated') {
    lines.push(trans.__('Simulated: this is no real GPU.'));
  }
  if (model.status === 'stale') {
    lines.push(
      trans.__(
        'The server does not answer. Numbers are from %1 and may be wrong.',
        time
      )
    );
  } else if (model.status === 'paused') {
    lines.push(trans.__('Paused at %1.', time));
  }
  if (snapshot.problem !== null) {
    lines.push(snapshot.problem.text);
  }
  return lines;
}
