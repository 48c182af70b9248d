/**
 * Test with real CUDA builds (PyTorch, numba) on the simulated driver, with the CPU builds of
 * TensorFlow, Keras and JAX, and with the oldest kernels. Their environments are made once (10 GB),
 * in the user's cache folder.
 *
 *   npm run test:frameworks                      everything
 *   npm run test:frameworks -- pytest -k cache   one part; more arguments go to it
 *   npm run test:frameworks -- playwright
 */
import { delimiter, join } from 'node:path';
import { findChromium } from './browser.mjs';
import { bin, python, root } from './environment.mjs';
import { Stop, exitWith, passThrough } from './run.mjs';
import { setup } from './setup.mjs';

const tests = join(root, 'python_probe', 'tests');
const parts = {
  pytest: [python, '-m', 'pytest', '-q', '-m', 'frameworks', tests],
  playwright: [
    join(bin, 'jlpm'),
    'playwright',
    'test',
    '-c',
    'ui-tests/frameworks/playwright.config.js'
  ]
};

try {
  if (process.platform !== 'linux') {
    throw new Stop(
      'The frameworks are tested on the simulated driver, which runs on Linux only.'
    );
  }
  const [named, ...more] = process.argv.slice(2);
  if (named !== undefined && !(named in parts)) {
    throw new Stop(
      `No part is called ${named}. There are: ${Object.keys(parts).join(', ')}`
    );
  }
  await setup();
  const env = {
    CHROMIUM: await findChromium(),
    PYTHONPATH: [tests, process.env.PYTHONPATH].filter(Boolean).join(delimiter)
  };
  for (const part of named ? [named] : Object.keys(parts)) {
    const status = await passThrough(
      python,
      ['-m', 'frameworks', ...parts[part], ...more],
      { env }
    );
    process.exitCode = process.exitCode || status;
  }
} catch (error) {
  exitWith(error);
}
