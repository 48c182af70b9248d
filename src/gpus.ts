import type { TranslationBundle } from '@jupyterlab/translation';
import { formatBytes } from './format';
import type { Gpu, Snapshot, Thresholds } from './service/wire';

/** The server's defaults, until its settings have been read. */
export const DEFAULT_THRESHOLDS: Thresholds = {
  high: 0.9,
  hot: 80,
  long_idle: 3600,
  hint: 0.1
};

/** The GPUs that get a card, in order: a card that is cut into slices shows as its slices. */
export function shownGpus(snapshot: Snapshot): Gpu[] {
  const cut = new Set(snapshot.gpus.map(gpu => gpu.parent));
  return snapshot.gpus
    .filter(gpu => !cut.has(gpu.uuid))
    .map(gpu => ({ gpu, place: place(gpu, snapshot) }))
    .sort((a, b) => a.place[0] - b.place[0] || a.place[1] - b.place[1])
    .map(({ gpu }) => gpu);
}

/** The card's index and, of a slice, its position on the card, else -1. */
function place(gpu: Gpu, snapshot: Snapshot): [number, number] {
  if (gpu.parent === null) {
    return [gpu.index, -1];
  }
  const card = snapshot.gpus.find(other => other.uuid === gpu.parent);
  const slices = snapshot.gpus
    .filter(other => other.parent === gpu.parent)
    .sort((a, b) => a.index - b.index);
  return [card?.index ?? gpu.index, slices.indexOf(gpu)];
}

/** `0`, or `0:1` for the second slice of card 0. */
export function gpuNumber(gpu: Gpu, snapshot: Snapshot): string {
  const [card, slice] = place(gpu, snapshot);
  return slice < 0 ? `${card}` : `${card}:${slice}`;
}

/** `GPU 0`, or `GPU 0 · slice 1`. */
export function gpuLabel(
  trans: TranslationBundle,
  gpu: Gpu,
  snapshot: Snapshot
): string {
  const [card, slice] = place(gpu, snapshot);
  return slice < 0
    ? trans.__('GPU %1', card)
    : trans.__('GPU %1 · slice %2', card, slice);
}

/** `GPU 0, 1`; `GPU —` where nobody knows. */
export function gpuList(
  trans: TranslationBundle,
  uuids: readonly string[],
  snapshot: Snapshot
): string {
  const numbers = shownGpus(snapshot)
    .filter(gpu => uuids.includes(gpu.uuid))
    .map(gpu => gpuNumber(gpu, snapshot));
  return trans.__('GPU %1', numbers.length > 0 ? numbers.join(', ') : '—');
}

/** Bytes that a new allocation could get; null = unknown. */
export function freeBytes({ memory }: Gpu): number | null {
  if (memory.free !== null) {
    return memory.free;
  }
  return memory.total !== null && memory.used !== null
    ? Math.max(0, memory.total - memory.used)
    : null;
}

/** Whether the GPU's memory is nearly full. Never of shared RAM, whose total says little. */
export function isHigh({ memory }: Gpu, thresholds: Thresholds): boolean {
  return (
    !memory.unified &&
    memory.used !== null &&
    !!memory.total &&
    memory.used / memory.total >= thresholds.high
  );
}

/**
 * Whether the GPU is hot: at its own slowdown temperature (the setting where it names none), or
 * while it reports that heat holds its clocks down.
 */
export function isHot(gpu: Gpu, thresholds: Thresholds): boolean {
  const { now, slowdown } = gpu.temperature;
  return (
    gpu.throttling.includes('heat') ||
    (now !== null && now >= (slowdown ?? thresholds.hot))
  );
}

/** `22.6 of 24.0 GiB`. */
export function usedOfTotal(
  trans: TranslationBundle,
  { memory }: Gpu,
  locale?: string
): string {
  return trans.__(
    '%1 of %2',
    formatBytes(memory.used, { bare: true, locale }),
    formatBytes(memory.total, { locale })
  );
}
