import { formatBytes, formatTime, UNKNOWN } from '../format';
import { holdsGpuMemory } from '../model/keys';
import {
  DEFAULT_THRESHOLDS,
  freeBytes,
  gpuLabel,
  gpuNumber,
  isHigh,
  shownGpus,
  usedOfTotal
} from '../gpus';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Gpu, Snapshot, Thresholds } from '../service/wire';
import type { IVramModel } from '../tokens';

/** More GPUs than that are shown as one summary. */
const MOST_GPUS = 3;

/** One figure of the status item. */
export interface IStatusPart {
  readonly icon: 'warn' | 'unplugged' | null;
  /** `GPU 0`, `8 GPUs`; null where `text` says it. */
  readonly name: string | null;
  /** Used share 0..1; null where there is no bar. */
  readonly share: number | null;
  readonly high: boolean;
  readonly text: string;
}

/** What the status item shows; plain data, equal when nothing changed on screen. */
export interface IStatusState {
  readonly parts: readonly IStatusPart[];
  readonly simulated: boolean;
  /** Accessible name. */
  readonly label: string;
  /** Every GPU, one a line. */
  readonly title: string;
}

/**
 * What the status item shows: the GPUs that the current notebook uses, else all; null where there
 * is no GPU to show.
 */
export function statusState(
  model: IVramModel,
  kernelId: string | null,
  trans: TranslationBundle,
  locale?: string
): IStatusState | null {
  const { snapshot, status } = model;
  if (
    snapshot === null ||
    snapshot.gpus.length === 0 ||
    !['live', 'paused', 'stale'].includes(status)
  ) {
    return null;
  }
  const words = new StatusWords(
    trans,
    snapshot,
    model.config?.thresholds ?? DEFAULT_THRESHOLDS,
    locale
  );
  const all = shownGpus(snapshot);
  const kernel = kernelId === null ? null : model.kernel(kernelId);
  const own =
    kernel !== null && holdsGpuMemory(kernel)
      ? all.filter(
          gpu => gpu.uuid in kernel.gpus && kernel.gpus[gpu.uuid] !== 0
        )
      : [];
  const shown = own.length > 0 ? own : all;
  const what =
    shown.length > MOST_GPUS
      ? trans._n('%1 GPU', '%1 GPUs', shown.length)
      : shown.map(gpu => gpuLabel(trans, gpu, snapshot)).join(', ');
  const time = formatTime(snapshot.taken_at, locale);
  let parts: IStatusPart[];
  if (status === 'stale') {
    parts = [
      words.notice('unplugged', trans.__('%1 · stopped at %2', what, time))
    ];
  } else if (status === 'paused') {
    parts = [words.notice(null, trans.__('%1 · paused', what))];
  } else if (snapshot.state !== 'ok') {
    parts = [words.notice('warn', trans.__('%1 · no reading', what))];
  } else if (shown.length > MOST_GPUS) {
    parts = [words.summary(shown, what)];
  } else {
    parts = shown.map(gpu => words.gpu(gpu));
  }
  const simulated = snapshot.source === 'simulated';
  const said = parts.map(({ name, text }) =>
    name ? trans.__('%1: %2.', name, text) : trans.__('%1.', text)
  );
  const notes = [
    ...(simulated ? [trans.__('Simulated: this is no real GPU.')] : []),
    ...(snapshot.problem ? [snapshot.problem.text] : [])
  ];
  return {
    parts,
    simulated,
    label: [trans.__('GPU memory.'), ...notes, ...said].join(' '),
    title: [...notes, ...all.map(gpu => words.line(gpu))].join('\n')
  };
}

/** Figures of GPUs in the words of the status bar. */
class StatusWords {
  constructor(
    private readonly trans: TranslationBundle,
    private readonly snapshot: Snapshot,
    private readonly thresholds: Thresholds,
    private readonly locale?: string
  ) {}

  notice(icon: IStatusPart['icon'], text: string): IStatusPart {
    return { icon, name: null, share: null, high: false, text };
  }

  gpu(gpu: Gpu): IStatusPart {
    const free = freeBytes(gpu);
    const high = isHigh(gpu, this.thresholds);
    return {
      icon: high ? 'warn' : null,
      name: gpuLabel(this.trans, gpu, this.snapshot),
      share: share([gpu]),
      high,
      text:
        free === null
          ? this.trans.__('— GiB')
          : this.trans.__('%1 free', this.bytes(free))
    };
  }

  summary(gpus: readonly Gpu[], name: string): IStatusPart {
    const { trans } = this;
    const full = gpus.filter(gpu => isHigh(gpu, this.thresholds)).length;
    const [most] = gpus
      .filter(gpu => freeBytes(gpu) !== null)
      .sort((a, b) => freeBytes(b)! - freeBytes(a)!);
    const number = most ? gpuNumber(most, this.snapshot) : UNKNOWN;
    const free = this.bytes(most ? freeBytes(most) : null);
    return {
      icon: full > 0 ? 'warn' : null,
      name,
      share: share(gpus),
      high: false,
      text:
        full > 0
          ? trans._n(
              '%1 nearly full · most free: GPU %2, %3',
              '%1 nearly full · most free: GPU %2, %3',
              full,
              number,
              free
            )
          : trans.__('most free: GPU %1, %2', number, free)
    };
  }

  line(gpu: Gpu): string {
    return this.trans.__(
      '%1: %2 used, %3 free',
      gpuLabel(this.trans, gpu, this.snapshot),
      usedOfTotal(this.trans, gpu, this.locale),
      this.bytes(freeBytes(gpu))
    );
  }

  private bytes(bytes: number | null): string {
    return formatBytes(bytes, { locale: this.locale });
  }
}

/** Used share of some GPUs together; null where one is not known, or shares the system's RAM. */
function share(gpus: readonly Gpu[]): number | null {
  let used = 0;
  let total = 0;
  for (const { memory } of gpus) {
    if (memory.unified || memory.used === null || !memory.total) {
      return null;
    }
    used += memory.used;
    total += memory.total;
  }
  return used / total;
}
