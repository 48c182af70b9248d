/**
 * Test with real CUDA builds (PyTorch, numba) on the simulated driver.
 *
 *   npm run test:frameworks              sets up the environment once (5.5 GB, cached), then tests
 *   npm run test:frameworks -- -k cache  more arguments go to pytest
 *   node scripts/frameworks.mjs --print-python   only the environment's Python
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { python, root } from './environment.mjs';
import { Stop, exitWith, passThrough } from './run.mjs';

const tests = join(root, 'python_probe', 'tests');

try {
  if (process.platform !== 'linux') {
    throw new Stop(
      'The frameworks are tested on the simulated driver, which runs on Linux only.'
    );
  }
  if (!existsSync(python)) {
    throw new Stop(
      'Run "npm run setup" first: the environment .venv is missing.'
    );
  }
  const args = process.argv.slice(2);
  const command =
    args[0] === '--print-python'
      ? []
      : [python, '-m', 'pytest', '-m', 'frameworks', join(tests, 'frameworks')];
  process.exitCode = await passThrough(
    python,
    [
      '-m',
      'frameworks.environment',
      ...command,
      ...(command.length ? args : [])
    ],
    {
      env: {
        PYTHONPATH: [tests, process.env.PYTHONPATH]
          .filter(Boolean)
          .join(delimiter)
      }
    }
  );
} catch (error) {
  exitWith(error);
}
