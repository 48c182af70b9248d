/**
 * Set up, measure everything against the bounds, print one table and write docs/benchmarks.md.
 *
 *   npm run bench                   everything; about six minutes
 *   npm run bench -- reading load   only these, and docs/benchmarks.md stays as it is
 *
 * Ends with status 1 if a bound is broken.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { python, root } from './environment.mjs';
import { document, table } from './bench/report.mjs';
import { Stop, exitWith, step } from './run.mjs';
import { setup } from './setup.mjs';

const inPython = name => [python, ['-m', 'bench', name]];
const measurements = {
  reading: inPython('reading'),
  load: inPython('load'),
  hang: inPython('hang'),
  asleep: inPython('asleep'),
  memory: inPython('memory'),
  watched: inPython('watched'),
  plan: inPython('plan'),
  park: inPython('park'),
  browser: ['node', [join(root, 'scripts/bench/browser.mjs')]]
};
const env = {
  PYTHONPATH: ['python_probe', 'python_probe/tests']
    .map(folder => join(root, folder))
    .join(delimiter)
};

/** Rows of one measurement, which its process writes into a file. */
async function measure(name, folder) {
  const [command, args] = measurements[name];
  const file = join(folder, `${name}.json`);
  await step(name, command, [...args, file], { env });
  return JSON.parse(readFileSync(file, 'utf8'));
}

try {
  const named = process.argv.slice(2);
  const wrong = named.filter(name => !(name in measurements));
  if (wrong.length) {
    throw new Stop(
      `No measurement is called ${wrong.join(', ')}. There are: ${Object.keys(measurements).join(', ')}`
    );
  }
  console.log('Setting up');
  await setup();
  console.log('Measuring; leave the computer alone meanwhile');
  const folder = mkdtempSync(join(tmpdir(), 'vram-bench-'));
  const rows = [];
  try {
    for (const name of named.length ? named : Object.keys(measurements)) {
      rows.push(...(await measure(name, folder)));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`\n${await table(rows)}`);
  if (!named.length) {
    writeFileSync(join(root, 'docs', 'benchmarks.md'), await document(rows));
    console.log('Written to docs/benchmarks.md.');
  }
  const broken = rows.filter(row => row.holds === false);
  console.log(
    broken.length ? `${broken.length} broken bounds.` : 'All bounds hold.'
  );
  process.exitCode = broken.length ? 1 : 0;
} catch (error) {
  exitWith(error);
}
