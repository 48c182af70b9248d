import type { Snapshot, Thresholds } from '../service/wire';
import { isHigh, shownGpus } from '../gpus';

/** How long a dismissed hint stays away, in seconds. */
export const DISMISSED_FOR = 3600;

/** A long-idle kernel that holds much of a nearly full GPU. */
export interface IHint {
  readonly kernelId: string;
  /** The GPU's uuid. */
  readonly gpu: string;
  /** What the kernel holds on that GPU. */
  readonly bytes: number;
  /** Seconds since its last activity. */
  readonly idle: number;
}

/**
 * The one hint worth showing: the largest share of a nearly full GPU that a long-idle kernel holds.
 *
 * @param dismissed - Until when a kernel's hint stays away, in seconds since the epoch.
 */
export function pickHint(
  snapshot: Snapshot,
  thresholds: Thresholds,
  dismissed: ReadonlyMap<string, number>
): IHint | null {
  let best: IHint | null = null;
  for (const gpu of shownGpus(snapshot)) {
    if (!isHigh(gpu, thresholds)) {
      continue;
    }
    for (const kernel of snapshot.kernels) {
      const bytes = kernel.gpus[gpu.uuid] ?? 0;
      if (
        kernel.state !== 'idle' ||
        kernel.last_activity === null ||
        (dismissed.get(kernel.id) ?? 0) > snapshot.taken_at
      ) {
        continue;
      }
      const idle = snapshot.taken_at - kernel.last_activity;
      if (
        idle >= thresholds.long_idle &&
        bytes >= thresholds.hint * gpu.memory.total! &&
        bytes > (best?.bytes ?? 0)
      ) {
        best = { kernelId: kernel.id, gpu: gpu.uuid, bytes, idle };
      }
    }
  }
  return best;
}
