/** The panel's screens: the reading each comes from, and what the drawings say is on it. */
import { expect } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import {
  container,
  driverMismatch,
  fleet,
  gpuLost,
  idle,
  noGpu,
  panel,
  parked,
  simulated,
  slices,
  snapshot,
  unified,
  windows
} from '../../src/__tests__/mockup';
import type { Snapshot } from '../../src/service/wire';

export interface IScreen {
  readonly name: string;
  readonly reading: Snapshot;
  /** Texts on it, in this order. */
  readonly texts: readonly string[];
  /** Names of the kernels, in this order. */
  readonly kernels: readonly string[];
}

export const SCREENS: readonly IScreen[] = [
  {
    name: '1a two GPUs',
    reading: panel(),
    texts: [
      'GPU 0',
      '1.4 GiB free',
      '22.6 of 24.0 GiB used',
      '97 % load',
      '86 °C hot',
      '287 W',
      'GPU 1',
      '10.0 GiB free',
      '14.0 of 24.0 GiB used',
      '41 % load',
      '61 °C',
      '168 W',
      'embeddings.ipynb holds 11.2 GiB of GPU 0 and has been idle for 2 h.',
      'Kernels',
      '32.9 GiB',
      '15.8 GiB',
      '11.2 GiB',
      '5.4 GiB',
      '0.5 GiB',
      '3 kernels without GPU memory',
      'Leftover processes',
      '1.9 GiB',
      'old-train.ipynb',
      'Other processes',
      '1.8 GiB',
      'Other users',
      '1.3 GiB'
    ],
    kernels: [
      'train-resnet.ipynb',
      'embeddings.ipynb',
      'llm-eval.ipynb',
      'sandbox.ipynb'
    ]
  },
  {
    name: '1c parked, and hidden by the driver',
    reading: parked(),
    texts: [
      'embeddings.ipynb',
      '0.5 GiB',
      '6.9 GiB in RAM',
      'windows-run.ipynb',
      '—',
      'hidden by the driver'
    ],
    kernels: ['embeddings.ipynb', 'windows-run.ipynb']
  },
  {
    name: '5a first seconds',
    reading: snapshot({ state: 'starting' }),
    texts: [
      'starting…',
      'Looking for GPUs…',
      'Reading the NVIDIA driver',
      'This takes up to 2 s the first time.'
    ],
    kernels: []
  },
  {
    name: '5b idle GPU',
    reading: idle(),
    texts: [
      '23.4 GiB free',
      '0.6 of 24.0 GiB used',
      'No notebook holds GPU memory',
      'Run a cell that uses the GPU'
    ],
    kernels: []
  },
  {
    name: '5c no GPU',
    reading: noGpu(),
    texts: [
      'no GPU',
      'No NVIDIA GPU found',
      'libnvidia-ml.so.1: not found',
      'nvidia-smi: not installed',
      'Look again',
      'Try with a simulated GPU'
    ],
    kernels: []
  },
  {
    name: '5d simulated',
    reading: simulated(),
    texts: [
      'SIMULATED · no real GPU',
      'Turn off',
      '7.2 GiB free',
      '16.8 of 24.0 GiB used',
      '15.8 GiB',
      '9.6 GiB',
      '6.2 GiB',
      'Invented GPU. Kernels are real: restart and shut down really do.'
    ],
    kernels: ['demo-train.ipynb', 'demo-idle.ipynb']
  },
  {
    name: '5e driver and library differ',
    reading: driverMismatch(),
    texts: [
      'driver error',
      'The NVIDIA driver was updated but not reloaded. Loaded: 570.86. Library: 575.57.',
      'Readings need a reboot',
      'Running notebooks keep working.',
      'Look again',
      'Copy details'
    ],
    kernels: []
  },
  {
    name: '5f container',
    reading: container(),
    texts: [
      "This container can't see who uses the rest of the GPU.",
      'What to ask your admin',
      '18.7 GiB free',
      '61.3 of 80.0 GiB used',
      '22.4 GiB',
      'Not visible here',
      '38.9 GiB',
      'Outside this container'
    ],
    kernels: ['train-resnet.ipynb']
  },
  {
    name: '5h no sizes from the driver',
    reading: windows(),
    texts: [
      'Windows does not report GPU memory per process. Sizes marked ≈ come from the framework and leave out the driver context.',
      '9.8 GiB free',
      '14.2 of 24.0 GiB used',
      '≈ 4.9 GiB',
      'idle 12 min',
      '—'
    ],
    kernels: ['llm-eval.ipynb', 'stable-features.ipynb']
  },
  {
    name: 'a GPU that is lost',
    reading: gpuLost(),
    texts: [
      'GPU 0 stopped answering. Its kernels can’t be measured. Restart the computer or ask your admin.',
      '14.0 of 24.0 GiB used'
    ],
    kernels: [
      'train-resnet.ipynb',
      'embeddings.ipynb',
      'llm-eval.ipynb',
      'sandbox.ipynb'
    ]
  },
  {
    name: 'no permission',
    reading: snapshot({
      state: 'no-permission',
      problem: {
        code: 'no-permission',
        text: 'The driver does not let this user read the GPU.',
        hint: 'Ask your admin for access to /dev/nvidia0.',
        tried: ['/dev/nvidia0: permission denied.']
      }
    }),
    texts: [
      'no permission',
      'The driver does not let this user read the GPU.',
      'Ask your admin for access to /dev/nvidia0.',
      'Look again'
    ],
    kernels: []
  },
  {
    name: 'shared RAM',
    reading: unified(),
    texts: [
      'Free: 98.4 of 119.7 GiB',
      'This GPU shares the computer’s RAM.',
      '12.5 GiB'
    ],
    kernels: ['train-resnet.ipynb']
  },
  {
    name: 'slices',
    reading: slices(),
    texts: ['GPU 0 · slice 0', '14.0 of 20.0 GiB used', 'GPU 0 · slice 1'],
    kernels: ['train-resnet.ipynb']
  },
  {
    name: '6a eight GPUs, thirty kernels',
    reading: fleet(),
    texts: [
      '80.0 GiB each',
      '11.4 free',
      '99 %',
      '83°',
      '4.8 free',
      '29.3 free',
      'Kernels · 30',
      '511.2 GiB',
      'train-resnet',
      '62.4',
      'Leftover processes',
      'none',
      'Other processes',
      '12.4 GiB'
    ],
    kernels: [
      'train-resnet.ipynb',
      'llm-eval.ipynb',
      'embeddings.ipynb',
      'finetune-bert.ipynb'
    ]
  }
];

/** The texts are there, one after the other. */
export async function expectTexts(
  node: Locator,
  texts: readonly (string | RegExp)[]
): Promise<void> {
  const escaped = texts.map(text =>
    typeof text === 'string'
      ? text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/ /g, '\\s')
      : text.source
  );
  // What is hidden by style (figures for narrow panels) is in the text as well.
  await expect(node).toContainText(new RegExp(escaped.join('[^]*')));
}

/** Kept beside the drawings for whoever compares them. */
export async function shoot(node: Locator, name: string): Promise<void> {
  const folder = process.env.VRAM_SCREENS;
  if (folder !== undefined) {
    await node.screenshot({ path: `${folder}/${name}.png` });
  }
}
