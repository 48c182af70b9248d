import type { TranslationBundle } from '@jupyterlab/translation';
import { formatAge } from '../format';
import { gpuList } from '../gpus';
import { idleText, stateWord } from '../kernelstate';
import { kernelNames } from '../names';
import type { IVramModel } from '../tokens';

/**
 * What a kernel is called, as in the panel's list: its notebook's file name, with the folder where
 * two have the same.
 */
export function kernelTitle(
  model: IVramModel,
  kernelId: string,
  trans: TranslationBundle
): string {
  const names = kernelNames(trans, model.snapshot?.kernels ?? []);
  return names.get(kernelId) ?? trans.__('kernel %1', kernelId.slice(0, 8));
}

/** `GPU 0` or `GPU 0, 1`; empty where the kernel's GPUs are not known. */
export function gpuTitle(
  { snapshot }: IVramModel,
  uuids: readonly string[],
  trans: TranslationBundle
): string {
  return snapshot?.gpus.some(gpu => uuids.includes(gpu.uuid))
    ? gpuList(trans, uuids, snapshot)
    : '';
}

/** `idle 2 h`, `busy`, …; empty where the state is not known. */
export function stateText(
  model: IVramModel,
  kernelId: string,
  trans: TranslationBundle
): string {
  const kernel = model.kernel(kernelId);
  if (kernel === null) {
    return '';
  }
  const { state, last_activity } = kernel;
  switch (state) {
    case 'idle':
      return idleText(
        trans,
        last_activity === null ? null : age(model, last_activity)
      );
    case 'busy':
      return trans.__('busy');
    default:
      return stateWord(trans, state) ?? '';
  }
}

/**
 * Seconds since a moment of the server's clock, with the difference between the two clocks taken
 * from the latest reading.
 */
export function age(model: IVramModel, serverTime: number): number {
  const offset =
    model.snapshot && model.receivedAt !== null
      ? model.receivedAt - model.snapshot.taken_at
      : 0;
  return Math.max(0, Date.now() / 1000 - offset - serverTime);
}

/** `measured in the kernel 3 s ago`. */
export function measuredText(
  model: IVramModel,
  measuredAt: number,
  trans: TranslationBundle
): string {
  const seconds = age(model, measuredAt);
  if (seconds < 1) {
    return trans.__('measured in the kernel just now');
  }
  return seconds < 60
    ? trans.__('measured in the kernel %1 s ago', Math.floor(seconds))
    : trans.__('measured in the kernel %1 ago', formatAge(trans, seconds));
}
