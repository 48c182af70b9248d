/**
 * The whole story on the first NVIDIA GPU of this computer: two notebooks are seen by name, planned
 * for, freed, parked and restarted; the figures go into docs/benchmarks.md. Takes a minute or two.
 *
 *   npm run test:gpu                    with the PyTorch of the project's own Python
 *   VRAM_GPU_PYTHON=… npm run test:gpu  with that of another one, which needs ipykernel, too
 *   npm run test:gpu -- --simulated     on the simulated driver (Linux), and the page says so
 *
 * Ends with status 1 if there is no GPU or no PyTorch for it, or if a figure is not as expected.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { keepRealCard } from './bench/report.mjs';
import { python, root } from './environment.mjs';
import { Stop, exitWith, passThrough } from './run.mjs';
import { setup } from './setup.mjs';

const env = {
  PYTHONPATH: ['python_probe', 'python_probe/tests']
    .map(folder => join(root, folder))
    .join(delimiter)
};

try {
  const args = process.argv.slice(2);
  if (args.some(arg => arg !== '--simulated')) {
    throw new Stop(`The only option is --simulated, not ${args.join(' ')}.`);
  }
  await setup();
  const folder = mkdtempSync(join(tmpdir(), 'vram-gpu-'));
  try {
    const file = join(folder, 'gpu.json');
    console.log('Two notebooks on one GPU');
    process.exitCode = await passThrough(
      python,
      ['-m', 'bench.gpu', file, ...args],
      { env }
    );
    if (process.exitCode === 0) {
      const kept = await keepRealCard(JSON.parse(readFileSync(file, 'utf8')));
      console.log(
        kept
          ? 'Written to docs/benchmarks.md.'
          : 'docs/benchmarks.md keeps what a real card measured.'
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} catch (error) {
  exitWith(error);
}
