import type { Gpu, History } from '../service/wire';

const GIB = 2 ** 30;

/** One layer of the chart. */
export interface IBand {
  /** Null for what no kernel held. */
  readonly kernelId: string | null;
  /** GiB at each moment, null where there was no reading. */
  readonly values: (number | null)[];
}

/** A GPU's past, ready to draw. */
export interface IBands {
  /** Seconds before the last moment: 0 or negative. */
  readonly times: number[];
  /** Bottom to top: kernels by their last size, then everything else. */
  readonly bands: IBand[];
  /** 0..100, null where there was no reading. */
  readonly load: (number | null)[];
}

/** Cut a GPU's record into layers that add up to what the driver called used. */
export function historyBands(record: History, gpu: Gpu): IBands {
  const past = record.gpus[gpu.uuid] ?? { used: [], utilization: [] };
  const last = past.used.length - 1;
  const kernels = Object.entries(record.kernels)
    .map(([kernelId, gpus]) => ({ kernelId, bytes: gpus[gpu.uuid] ?? [] }))
    .filter(({ bytes }) => bytes.some(value => (value ?? 0) > 0))
    .sort((a, b) => (b.bytes[last] ?? 0) - (a.bytes[last] ?? 0));
  const rest = past.used.map((used, i) =>
    used === null
      ? null
      : Math.max(
          0,
          used - kernels.reduce((sum, { bytes }) => sum + (bytes[i] ?? 0), 0)
        )
  );
  return {
    times: past.used.map((_, i) => (i - last) * record.step),
    bands: [
      ...kernels.map(({ kernelId, bytes }) => ({
        kernelId,
        values: past.used.map((used, i) =>
          used === null ? null : (bytes[i] ?? 0) / GIB
        )
      })),
      {
        kernelId: null,
        values: rest.map(value => (value === null ? null : value / GIB))
      }
    ],
    load: past.utilization.map(share => (share === null ? null : share * 100))
  };
}
