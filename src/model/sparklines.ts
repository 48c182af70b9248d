import type { Snapshot } from '../service/wire';

/** Seconds a point. */
const STEP = 10;

/** Ten minutes. */
const MOST_POINTS = 60;

interface ILine {
  /** Number of the last step; steps count from the epoch. */
  step: number;
  points: (number | null)[];
}

/**
 * Each kernel's GPU bytes in the last ten minutes: the largest of every ten seconds, null where
 * nothing was read or the size is not known.
 */
export class Sparklines {
  get(kernelId: string): ReadonlyArray<number | null> {
    return this._lines.get(kernelId)?.points ?? [];
  }

  /** @param snapshot - A reading whose list of kernels is complete (`state: ok`). */
  see(snapshot: Snapshot): void {
    const step = Math.floor(snapshot.taken_at / STEP);
    const seen = new Map<string, ILine>();
    for (const { id, bytes } of snapshot.kernels) {
      const old = this._lines.get(id);
      if (old === undefined && !bytes) {
        // Its line starts with its first memory.
        continue;
      }
      const points = old?.points.slice() ?? [];
      let last = old?.step ?? step - 1;
      if (step - last > MOST_POINTS) {
        points.length = 0;
        last = step - 1;
      }
      for (; last < step; last++) {
        points.push(null);
      }
      // A clock that was set back writes into the newest point.
      const end = points.length - 1;
      points[end] =
        bytes === null ? points[end] : Math.max(points[end] ?? 0, bytes);
      seen.set(id, { step: last, points: points.slice(-MOST_POINTS) });
    }
    this._lines = seen;
  }

  private _lines = new Map<string, ILine>();
}
