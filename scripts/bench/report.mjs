/** The rows as a table for people, and the page that keeps them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, type } from 'node:os';
import { join } from 'node:path';
import { chromiumVersion, findChromium } from '../browser.mjs';
import { python, root } from '../environment.mjs';
import { answer } from '../run.mjs';

const PACKAGES = [
  'jupyterlab',
  'jupyter_server',
  'ipykernel',
  'nvidia-ml-py',
  'nvitop',
  'gpustat'
];

const PAGE = join(root, 'docs', 'benchmarks.md');
const REAL_CARD = '## Real card';
const REAL = 'Written by `npm run test:gpu` on a real card:';

/** One line a row, aligned. */
export function table(rows) {
  return format(tableSource(rows));
}

/** docs/benchmarks.md. */
export async function document(rows) {
  return format(`# Benchmarks

Written by \`npm run bench\`, which measures all of this again, prints the same table, and fails if
a bound is broken. It takes about six minutes, and needs gcc, a Chromium, and the CUDA build of
PyTorch, which it installs once (5.5 GB in the user's cache folder).

**Simulated driver only.** The driver is a program of this project's tests that answers at once; it
stands where NVIDIA's own would. So these are the costs of this project's and of its peers' code,
not of a GPU or of NVIDIA's driver. Servers, kernels, WebSockets and the browser are real.

${tableSource(rows)}

- Peers run in the same minute and in turns with ours; figures are medians over the turns.
- _The same calls_: the very list of driver calls that our reading makes, bare; that both make the
  same is checked before. nvitop's and gpustat's readings ask more of the driver and tell more of
  the processes; gpustat's waits 0.1 s for each GPU to see their CPU use.
- Server CPU: all threads of a Jupyter server that reads 8 GPUs, every 20 ms so that Jupyter's own
  work for its kernels stays a small part; that part is taken off. What it costs to name a GPU's
  holders follows their number, so the bound is for kernels that come without using a GPU.
- Event loop: what a coroutine in the server waits that wants to go on at any moment, without the
  time that other programs had the CPU.

Measured on ${availableParallelism()} cores, ${type()}, ${await versions()}.

${realCard()}
`);
}

/**
 * Put what `npm run test:gpu` measured into its section of docs/benchmarks.md.
 *
 * @param result - what `python -m bench.gpu` wrote; the page says whether it was simulated
 * @returns whether it was put there: a simulated result never replaces a real one
 */
export async function keepRealCard({ simulated, card, rows }) {
  const lines = rows.map(({ measure, ours, against }) => [
    measure,
    against,
    ours
  ]);
  const [page, before = ''] = readFileSync(PAGE, 'utf8').split(REAL_CARD);
  if (simulated && before.includes(REAL)) {
    return false;
  }
  const what = simulated
    ? `**Simulated driver only: this has not been run on a real card yet.** The same steps there
(a simulated ${card}):`
    : `${REAL} ${card}.`;
  const section = `${REAL_CARD}\n\n${what}\n\n${aligned([
    ['Step', 'Expected', 'Measured'],
    ['---', '---', '---'],
    ...lines
  ])}`;
  writeFileSync(PAGE, await format(`${page.trimEnd()}\n\n${section}\n`));
  return true;
}

function realCard() {
  const page = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '';
  const at = page.indexOf(REAL_CARD);
  return at < 0
    ? `${REAL_CARD}\n\nSimulated driver only: \`npm run test:gpu\` has not been run yet.`
    : page.slice(at).trimEnd();
}

function tableSource(rows) {
  const lines = rows.map(({ measure, ours, against, ratio, holds }) => [
    measure,
    ours,
    against,
    ratio === null ? '' : ratio < 0.01 ? '< 0.01×' : `${ratio.toFixed(2)}×`,
    holds === null ? '' : holds ? 'holds' : '**broken**'
  ]);
  return aligned([
    ['Measure', 'Ours', 'Peer or bound', 'Ratio', 'Verdict'],
    ['---', '---', '---', '---', '---'],
    ...lines
  ]);
}

function aligned(lines) {
  return lines.map(cells => `| ${cells.join(' | ')} |`).join('\n');
}

async function format(markdown) {
  const prettier = await import('prettier');
  const options = await prettier.resolveConfig(PAGE);
  return prettier.format(markdown, { ...options, filepath: PAGE });
}

async function versions() {
  const code = `
import platform, importlib.metadata
print(", ".join(["Python " + platform.python_version()] + [
    name + " " + importlib.metadata.version(name) for name in ${JSON.stringify(PACKAGES)}
]))`;
  return `${answer(python, ['-c', code])}, ${chromiumVersion(await findChromium())}`;
}
