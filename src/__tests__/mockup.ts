/*
 * Readings whose numbers are the design's drawings': they add up, so that a test can say what
 * must be on screen. Plain data; Jest and Playwright share it.
 */
import { SCHEMA } from '../service/wire';
import type { Gpu, Holder, Kernel, Snapshot } from '../service/wire';

/** When every reading here was taken, in seconds since the epoch. */
export const TAKEN_AT = 1_790_000_000;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Bytes of so many GiB. */
export function gib(value: number): number {
  return Math.round(value * 2 ** 30);
}

/** A GPU with nothing but a size; `change` replaces top-level fields. */
export function gpu(
  index: number,
  total: number,
  used: number,
  change: Partial<Gpu> = {}
): Gpu {
  return {
    uuid: `GPU-${index}`,
    index,
    name: 'NVIDIA GeForce RTX 4090',
    pci_bus_id: null,
    parent: null,
    memory: {
      total: gib(total),
      used: gib(used),
      free: gib(total) - gib(used),
      reserved: null,
      unified: false
    },
    utilization: {
      gpu: null,
      memory_bandwidth: null,
      encoder: null,
      decoder: null
    },
    temperature: { now: null, slowdown: null },
    power: { draw: null, limit: null },
    clocks: { sm: null, memory: null },
    fan: null,
    pcie: { rx: null, tx: null },
    nvlink: { rx: null, tx: null },
    throttling: [],
    health: 'ok',
    unknown: {},
    ...change
  };
}

/** Load as a share, temperature in °C, power in W. */
function reading(
  load: number | null,
  now: number | null,
  draw: number | null,
  slowdown: number | null = 84
): Partial<Gpu> {
  return {
    utilization: {
      gpu: load,
      memory_bandwidth: null,
      encoder: null,
      decoder: null
    },
    temperature: { now, slowdown },
    power: { draw, limit: 450 }
  };
}

/** A kernel that holds so many GiB by GPU; idle for `idle` seconds, busy with null. */
export function kernel(
  notebook: string,
  sizes: Record<string, number | null>,
  idle: number | null,
  change: Partial<Kernel> = {}
): Kernel {
  const gpus = Object.fromEntries(
    Object.entries(sizes).map(([uuid, size]) => [
      uuid,
      size === null ? null : gib(size)
    ])
  );
  const known = Object.values(gpus);
  return {
    id: notebook.replace(/\.ipynb$/, ''),
    name: 'python3',
    language: 'python',
    notebook,
    sessions: [
      { id: `s-${notebook}`, path: notebook, name: notebook, type: 'notebook' }
    ],
    state: idle === null ? 'busy' : 'idle',
    last_activity: TAKEN_AT - (idle ?? 4 * MINUTE),
    connections: 1,
    host: null,
    pids: [],
    bytes: known.includes(null)
      ? null
      : known.reduce<number>((sum, size) => sum + (size ?? 0), 0),
    gpus,
    parked: null,
    budget: null,
    place: null,
    devices: {},
    frameworks: {},
    asked_at: null,
    ...change
  };
}

/** A process on a GPU. */
export function holder(
  uuid: string,
  pid: number,
  size: number | null,
  kind: Holder['kind'],
  change: Partial<Holder> = {}
): Holder {
  return {
    gpu: uuid,
    pid,
    started_at: TAKEN_AT - 3 * HOUR,
    bytes: size === null ? null : gib(size),
    bytes_from: size === null ? null : 'driver',
    type: 'C',
    name: null,
    kind,
    role: 'unknown',
    kernel_id: null,
    notebook: null,
    engines: { sm: null, memory: null, encoder: null, decoder: null },
    evidence: null,
    ...change
  };
}

/** A reading with no GPU; `change` replaces top-level fields. */
export function snapshot(change: Partial<Snapshot> = {}): Snapshot {
  return {
    type: 'snapshot',
    version: '0.1.0',
    schema: SCHEMA,
    taken_at: TAKEN_AT,
    source: 'nvml',
    state: 'ok',
    problem: null,
    views: { processes: 'all', sizes: 'all', reason: null },
    driver: { version: '575.57', cuda_version: '12.9' },
    gpus: [],
    holders: [],
    kernels: [],
    unattributed: [],
    ...change
  };
}

/** The kernels' own processes, so that each GPU's holders add up. */
function own(kernels: Kernel[], change: Partial<Holder> = {}): Holder[] {
  return kernels.flatMap((kernel, position) =>
    Object.entries(kernel.gpus).map(([uuid, bytes]) =>
      holder(uuid, 1000 + position, null, 'kernel', {
        bytes,
        bytes_from: bytes === null ? null : 'driver',
        name: 'python',
        role: 'main',
        kernel_id: kernel.id,
        ...change
      })
    )
  );
}

/** Two cards, four kernels, a leftover: GPU 0 has 22.6 = 11.2 + 7.9 + 1.9 + 1.6 of 24.0 GiB. */
export function panel(): Snapshot {
  const kernels = [
    kernel('train-resnet.ipynb', { 'GPU-0': 7.9, 'GPU-1': 7.9 }, null),
    kernel('embeddings.ipynb', { 'GPU-0': 11.2 }, 2 * HOUR, {
      frameworks: {
        torch: {
          live: gib(6.9),
          cached: gib(3.8),
          context: gib(0.5),
          peak: gib(11.2)
        }
      },
      asked_at: TAKEN_AT - 3
    }),
    kernel('llm-eval.ipynb', { 'GPU-1': 5.4 }, 12 * MINUTE),
    kernel('sandbox.ipynb', { 'GPU-1': 0.5 }, 5 * MINUTE),
    kernel('notes.ipynb', {}, 30 * MINUTE),
    kernel('plots.ipynb', {}, 3 * HOUR),
    kernel('etl.ipynb', {}, null)
  ];
  return snapshot({
    gpus: [
      gpu(0, 24, 22.6, reading(0.97, 86, 287)),
      gpu(1, 24, 14, reading(0.41, 61, 168))
    ],
    kernels,
    holders: [
      ...own(kernels),
      holder('GPU-0', 2001, 1.2, 'leftover', {
        name: 'python',
        notebook: 'old-train.ipynb',
        kernel_id: 'old-train',
        role: 'worker',
        evidence: 'Started by a kernel that has ended.'
      }),
      holder('GPU-0', 2002, 0.7, 'leftover', {
        name: 'python',
        notebook: 'old-train.ipynb',
        kernel_id: 'old-train',
        role: 'worker',
        evidence: 'Started by a kernel that has ended.'
      }),
      holder('GPU-0', 3001, 1.1, 'other-user'),
      holder('GPU-1', 3002, 0.2, 'other-user'),
      holder('GPU-0', 3003, 0.5, 'system', { type: 'G', name: 'Xorg' })
    ]
  });
}

/** A kernel whose data is in host RAM and one whose size the driver hides. */
export function parked(): Snapshot {
  const reading = panel();
  return {
    ...reading,
    kernels: [
      kernel('embeddings.ipynb', { 'GPU-0': 0.5 }, 2 * HOUR, {
        parked: gib(6.9)
      }),
      kernel('windows-run.ipynb', { 'GPU-0': null }, 5 * MINUTE)
    ],
    views: { ...reading.views, sizes: 'some' }
  };
}

/** No kernel holds GPU memory. */
export function idle(): Snapshot {
  return snapshot({
    gpus: [gpu(0, 24, 0.6, reading(0, 41, 22))],
    holders: [holder('GPU-0', 3003, 0.6, 'system', { type: 'G', name: 'Xorg' })]
  });
}

export function noGpu(): Snapshot {
  return snapshot({
    state: 'no-library',
    driver: { version: null, cuda_version: null },
    problem: {
      code: 'no-library',
      text: "The driver's library is not on this computer (or in this container).",
      hint: 'If there is an NVIDIA GPU, install its driver.',
      tried: [
        'NVIDIA library libnvidia-ml.so.1: not found.',
        'nvidia-smi: not installed.'
      ]
    }
  });
}

/** The simulated GPU: 16.8 of 24.0 GiB used. */
export function simulated(): Snapshot {
  const kernels = [
    kernel('demo-train.ipynb', { 'GPU-0': 9.6 }, null),
    kernel('demo-idle.ipynb', { 'GPU-0': 6.2 }, HOUR)
  ];
  return snapshot({
    source: 'simulated',
    gpus: [
      gpu(0, 24, 16.8, {
        ...reading(0.71, 66, 240),
        name: 'Simulated 24 GiB'
      })
    ],
    kernels,
    holders: own(kernels),
    unattributed: [
      { gpu: 'GPU-0', bytes: gib(1), reason: 'No process explains it.' }
    ]
  });
}

export function driverMismatch(): Snapshot {
  return snapshot({
    state: 'version-mismatch',
    problem: {
      code: 'version-mismatch',
      text: 'The NVIDIA driver was updated but not reloaded. Loaded: 570.86. Library: 575.57.',
      hint: 'Running notebooks keep working. New GPU work may fail until the computer is restarted.',
      tried: [
        'Driver and library versions differ (NVML code 18).',
        'nvidia-smi: same answer.'
      ]
    }
  });
}

/** A container: 22.4 GiB of ours, 38.9 GiB of nobody we can see. */
export function container(): Snapshot {
  const kernels = [kernel('train-resnet.ipynb', { 'GPU-0': 22.4 }, null)];
  return snapshot({
    views: {
      processes: 'namespace',
      sizes: 'all',
      reason: "This container can't see who uses the rest of the GPU."
    },
    gpus: [
      gpu(0, 80, 61.3, {
        ...reading(0.88, 63, 301),
        name: 'NVIDIA A100 80GB PCIe'
      })
    ],
    kernels,
    holders: own(kernels),
    unattributed: [
      {
        gpu: 'GPU-0',
        bytes: gib(61.3) - gib(22.4),
        reason: 'Outside this container.'
      }
    ]
  });
}

/** Windows: sizes are the framework's, and one kernel gives none. */
export function windows(): Snapshot {
  const measured = [kernel('llm-eval.ipynb', { 'GPU-0': 4.9 }, 12 * MINUTE)];
  const hidden = [kernel('stable-features.ipynb', { 'GPU-0': null }, null)];
  return snapshot({
    views: {
      processes: 'all',
      sizes: 'none',
      reason: 'Windows does not report GPU memory per process.'
    },
    gpus: [gpu(0, 24, 14.2, reading(null, 61, null))],
    kernels: [...measured, ...hidden],
    holders: [...own(measured, { bytes_from: 'estimate' }), ...own(hidden)],
    unattributed: [
      {
        gpu: 'GPU-0',
        bytes: gib(14.2) - gib(4.9),
        reason: 'The driver gives no sizes by process.'
      }
    ]
  });
}

/** The driver hangs: no figures at all. */
export function silent(): Snapshot {
  return snapshot({
    state: 'timeout',
    problem: {
      code: 'timeout',
      text: 'The NVIDIA driver has not answered for 10 s.',
      hint: 'This passes when the driver is merely busy.',
      tried: []
    }
  });
}

/** One card of two stopped answering. */
export function gpuLost(): Snapshot {
  const reading = panel();
  return {
    ...reading,
    gpus: [
      gpu(0, 24, 0, {
        health: 'lost',
        memory: {
          total: null,
          used: null,
          free: null,
          reserved: null,
          unified: false
        }
      }),
      ...reading.gpus.slice(1)
    ]
  };
}

/** A GPU that shares the computer's RAM. */
export function unified(): Snapshot {
  const reading = gpu(0, 119.7, 21.3, { name: 'NVIDIA GB10' });
  const kernels = [kernel('train-resnet.ipynb', { 'GPU-0': 12.5 }, null)];
  return snapshot({
    gpus: [{ ...reading, memory: { ...reading.memory, unified: true } }],
    kernels,
    holders: own(kernels)
  });
}

/** Two slices of one card. */
export function slices(): Snapshot {
  const kernels = [kernel('train-resnet.ipynb', { 'MIG-1': 14 }, null)];
  return snapshot({
    gpus: [
      gpu(0, 80, 14.2, { name: 'NVIDIA H100', uuid: 'GPU-0' }),
      gpu(0, 20, 14, { uuid: 'MIG-1', parent: 'GPU-0', name: '1g.20gb' }),
      gpu(1, 20, 0.1, { uuid: 'MIG-2', parent: 'GPU-0', name: '1g.20gb' })
    ],
    kernels,
    holders: own(kernels)
  });
}

const FLEET: [string, number, number, number | null][] = [
  ['train-resnet', 0, 62.4, null],
  ['llm-eval', 1, 58.1, 5 * HOUR],
  ['embeddings', 2, 44, null],
  ['finetune-bert', 3, 39.7, 8 * MINUTE],
  ['diffusion-grid', 4, 36.2, null],
  ['segment-cells', 5, 31.5, DAY],
  ['rag-index', 6, 28.8, null],
  ['speech-asr', 2, 24.9, 3 * MINUTE],
  ['gnn-molecules', 3, 22.3, 2 * HOUR],
  ['vit-probe', 7, 19.6, null],
  ['recsys-two-tower', 4, 17.2, 22 * MINUTE],
  ['timeseries-tft', 5, 15.8, null],
  ['ocr-batch', 6, 14.4, 9 * HOUR],
  ['reward-model', 7, 12.9, MINUTE],
  ['tokenizer-bench', 1, 11.7, null],
  ['clip-search', 4, 10.4, 14 * MINUTE],
  ['pose-estimate', 5, 9.3, null],
  ['protein-fold', 6, 8.6, 3 * HOUR],
  ['audio-sep', 7, 7.9, 6 * MINUTE],
  ['style-transfer', 3, 6.8, null],
  ['ranker-eval', 2, 5.9, 2 * MINUTE],
  ['depth-maps', 7, 5.1, 4 * HOUR],
  ['quantize-int8', 6, 4.4, null],
  ['lora-sweep', 5, 3.7, 9 * MINUTE],
  ['anomaly-ae', 4, 3, 17 * MINUTE],
  ['text2sql', 7, 2.4, null],
  ['bandit-sim', 6, 1.8, 2 * DAY],
  ['nerf-room', 5, 1.2, 25 * MINUTE],
  ['topic-model', 7, 0.7, 4 * MINUTE],
  ['sandbox', 7, 0.5, MINUTE]
];

/** Eight cards of 80.0 GiB, thirty kernels: 511.2 GiB in kernels, 12.4 GiB elsewhere. */
export function fleet(): Snapshot {
  const kernels = FLEET.map(([name, index, size, idle]) =>
    kernel(`${name}.ipynb`, { [`GPU-${index}`]: size }, idle, {
      frameworks: {
        torch: {
          live: gib(Math.round(size * 6.2) / 10),
          cached: gib(Math.round(size * 3.7) / 10),
          context: null,
          peak: null
        }
      },
      asked_at: TAKEN_AT - 40
    })
  );
  const free = [11.4, 8.2, 4.8, 10.8, 12.2, 18.1, 21.6, 29.3];
  const readings: [number, number][] = [
    [0.99, 83],
    [0, 71],
    [0.87, 64],
    [0.04, 58],
    [0.92, 66],
    [0.33, 61],
    [0.71, 55],
    [0.46, 49]
  ];
  const gpus = free.map((size, index) =>
    gpu(index, 80, 80 - size, {
      ...reading(readings[index][0], readings[index][1], null, 82),
      name: 'NVIDIA A100-SXM4-80GB'
    })
  );
  return snapshot({
    gpus,
    kernels,
    holders: own(kernels),
    unattributed: gpus.map(({ uuid, memory }) => ({
      gpu: uuid,
      bytes:
        memory.used! -
        kernels.reduce((sum, { gpus }) => sum + (gpus[uuid] ?? 0), 0),
      reason: 'No process explains it.'
    }))
  });
}
