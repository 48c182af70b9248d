import type { TranslationBundle } from '@jupyterlab/translation';
import { formatBytes } from '../format';
import type { Gpu, Snapshot } from '../service/wire';
import { freeBytes, gpuLabel, usedOfTotal } from '../gpus';

/** One piece of a GPU's bar. */
export interface ISegment {
  readonly kind: 'kernel' | 'leftover' | 'other';
  /** The kernel's id with kind `kernel`, else null. */
  readonly kernelId: string | null;
  readonly bytes: number;
  /** Share of the bar, 0..1. */
  readonly share: number;
}

/**
 * Who has a GPU's memory, in the bar's order: kernels by size, leftovers, everything else. What is
 * left of the bar is free.
 *
 * #### Notes
 * Empty where the GPU's size is unknown. "Everything else" is what the driver calls used less what
 * kernels and leftovers are known to hold, so that the bar always agrees with the figure above it.
 */
export function gpuSegments(snapshot: Snapshot, gpu: Gpu): ISegment[] {
  const { total, used } = gpu.memory;
  if (!total) {
    return [];
  }
  const kernels = snapshot.kernels
    .map(kernel => ({ id: kernel.id, bytes: kernel.gpus[gpu.uuid] ?? 0 }))
    .filter(({ bytes }) => bytes > 0)
    .sort((a, b) => b.bytes - a.bytes);
  const leftover = snapshot.holders
    .filter(({ gpu: uuid, kind }) => uuid === gpu.uuid && kind === 'leftover')
    .reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
  const named = kernels.reduce((sum, { bytes }) => sum + bytes, leftover);
  const other = Math.max(0, (used ?? named) - named);
  // Estimates may add up to more than the card has.
  const whole = Math.max(total, named + other);
  const segment = (
    kind: ISegment['kind'],
    bytes: number,
    kernelId: string | null = null
  ): ISegment => ({ kind, kernelId, bytes, share: bytes / whole });
  return [
    ...kernels.map(({ id, bytes }) => segment('kernel', bytes, id)),
    segment('leftover', leftover),
    segment('other', other)
  ].filter(({ bytes }) => bytes > 0);
}

/** The bar in words: who has how much, and what is free. */
export function barSentence(
  trans: TranslationBundle,
  snapshot: Snapshot,
  gpu: Gpu,
  names: ReadonlyMap<string, string>,
  locale?: string
): string {
  const label = gpuLabel(trans, gpu, snapshot);
  if (gpu.memory.used === null || gpu.memory.total === null) {
    return trans.__('%1: memory use unknown', label);
  }
  const parts = gpuSegments(snapshot, gpu).map(({ kind, kernelId, bytes }) =>
    trans.__(
      '%1 %2',
      kind === 'kernel'
        ? names.get(kernelId!)!
        : kind === 'leftover'
          ? trans.__('leftover processes')
          : trans.__('other processes'),
      formatBytes(bytes, { bare: true, locale })
    )
  );
  parts.push(
    trans.__('%1 free', formatBytes(freeBytes(gpu), { bare: true, locale }))
  );
  return trans.__(
    '%1: %2 used. %3.',
    label,
    usedOfTotal(trans, gpu, locale),
    new Intl.ListFormat(locale, { type: 'unit' }).format(parts)
  );
}
