/** From an allocation in a kernel to the figure on the notebook's badge. */
/* global window, document, MutationObserver */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runNextCell, until } from './lab.mjs';

const ROUNDS = 30;
/** Milliseconds; the interval is the default. */
const INTERVAL = 1000;
const BOUND = INTERVAL + 150;
const GIB = 2 ** 30;

const FIRST = `
import json, random, time
from jupyterlab_vram import simulated
held = [simulated.empty(1 << 29, "uint8")]
`;
// At moments that have nothing to do with the server's readings, further apart than the bound.
const REST = `
with open("allocations.txt", "w", buffering=1) as log:
    for _ in range(${ROUNDS}):
        time.sleep(random.uniform(1.3, 2.3))
        at = time.time()
        held.append(simulated.empty(1 << 29, "uint8"))
        print(at, simulated.memory_reserved() + simulated.context_size(), file=log)
`;

export const cells = [FIRST, REST];

/** @returns rows of the table, in the shape of python_probe/bench/row.py */
export async function measureBadge({ page, folder }) {
  await runNextCell(page);
  await page.locator('button.jp-Vram-Badge').waitFor();
  await page.evaluate(watchBadge);
  await runNextCell(page);
  const log = join(folder, 'allocations.txt');
  const allocations = () =>
    readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map(line => line.split(' ').map(Number));
  await until(() => existsSync(log) && allocations().length === ROUNDS);
  await page.waitForTimeout(2 * BOUND);

  const shown = await page.evaluate(() => window.shownOnBadge);
  const delays = allocations().map(([at, bytes]) => {
    const gib = Math.round((bytes / GIB) * 10) / 10;
    const seen = shown.find(each => each.at > at * 1000 && each.gib >= gib);
    // Never shown is later than any bound.
    return seen === undefined ? Infinity : seen.at - at * 1000;
  });
  delays.sort((a, b) => a - b);
  const p95 = delays[Math.ceil(0.95 * ROUNDS) - 1];
  const median = delays[ROUNDS / 2];
  return [
    {
      measure: `Allocation to badge, 95th percentile of ${ROUNDS}, at an interval of 1 s`,
      ours: `${p95.toFixed(0)} ms (median ${median.toFixed(0)} ms)`,
      against: `at most ${BOUND} ms`,
      ratio: null,
      holds: p95 <= BOUND
    }
  ];
}

/** Runs in the page: stamp each change of the badge's figure. */
function watchBadge() {
  window.shownOnBadge = [];
  const badge = document.querySelector('button.jp-Vram-Badge');
  new MutationObserver(() => {
    const text = badge.querySelector('.jp-Vram-Badge-size').textContent;
    window.shownOnBadge.push({
      at: performance.timeOrigin + performance.now(),
      gib: parseFloat(text)
    });
  }).observe(badge, { childList: true, subtree: true, characterData: true });
}
