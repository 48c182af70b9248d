/** From plan to report with real kernels: idle, busy, with a pool that stays, parked and back. */
import { expect, test } from '@jupyterlab/galata';
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import { expectAccessible } from './accessible';
import {
  badge,
  openNotebook,
  openPanel,
  openPlan,
  output,
  prompt,
  row,
  runCell,
  screenshot,
  shutDownAll,
  simulated,
  startCell
} from './lab';

// Galata's stand-ins for these lists leave a restarted kernel's page waiting for ever.
test.use({ kernels: null, sessions: null });

test.afterEach(async ({ page }) => {
  await shutDownAll(page);
});

/** Open a notebook and run its first cells, one by one. */
async function run(
  page: IJupyterLabPageFixture,
  tmpPath: string,
  name: string,
  cells: string[],
  count = cells.length
): Promise<Locator> {
  const panel = await openPanel(page);
  await openNotebook(page, tmpPath, name, cells);
  for (let i = 0; i < count; i++) {
    await page.notebook.runCell(i, { wait: true });
  }
  return panel;
}

const PINNED = [
  simulated.import,
  simulated.take('kept', 2),
  simulated.take('big', 6),
  'gpu.empty(1 * 2**30, dtype="uint8")',
  [
    'def train():',
    '    batch = gpu.empty(3 * 2**30, dtype="uint8")',
    '    raise ValueError("the loss is not a number")',
    'train()'
  ].join('\n'),
  simulated.take('gone', 4),
  'del gone'
];

test('an idle kernel: what holds its memory is named, and goes by choice', async ({
  page,
  tmpPath
}) => {
  const panel = await run(page, tmpPath, 'pinned.ipynb', PINNED);
  await expect(row(panel, 'pinned.ipynb')).toContainText(/16\.[0-9]\s*GiB/);
  const plan = await openPlan(page, panel, 'pinned.ipynb');
  await expect(
    plan.getByRole('checkbox', { name: 'Release cached blocks' })
  ).toBeChecked();
  await expect(plan.getByRole('checkbox', { name: /^Park/ })).not.toBeChecked();
  await plan.getByText('Largest holders').click();
  for (const name of ['big', 'kept', 'Out[4]']) {
    await expect(plan.getByRole('listitem').getByText(name)).toBeVisible();
  }
  await page.screenshot({ path: screenshot('free-idle-plan') });
  await expectAccessible(page, '.jp-Vram-FreeDialog');

  await plan.getByRole('checkbox', { name: /^Drop the last error/ }).check();
  await plan.getByRole('checkbox', { name: /^Clear Out/ }).check();
  await plan.getByRole('button', { name: 'Choose…' }).click();
  await plan.getByRole('checkbox', { name: 'big' }).check();
  await expect(plan).toContainText('You lose: history and big');
  await page.screenshot({ path: screenshot('free-idle-chosen') });
  await plan.getByRole('button', { name: /^Free .*14\.0/ }).click();
  const result = page.getByRole('dialog', { name: 'Done' });
  await expect(result).toContainText(/Freed 14\.0\s*GiB/);
  await expect(result).toContainText('read from the driver');
  await page.screenshot({ path: screenshot('free-idle-result') });
  await expectAccessible(page, '.jp-Vram-FreeDialog');

  await result.getByRole('button', { name: 'Show what is left' }).click();
  await expect(result).toHaveCount(0);
  const left = page.getByRole('dialog');
  await expect(left.getByText('Largest holders')).toBeVisible();
  await expect(left).toContainText(/kept 2\.0\s*GiB/);
  await expect(left).not.toContainText('big');
  await page.keyboard.press('Escape');

  await row(panel, 'pinned.ipynb').click();
  await expect(
    panel.getByRole('row', { name: 'Details of pinned.ipynb' })
  ).toContainText(/Largest holders.*kept\s*2\.0\s*GiB/);
  await badge(page).hover();
  await expect(page.getByRole('tooltip')).toContainText(
    /At \d\d:\d\d:\d\d: freed 14\.0\s*GiB/
  );
});

test('a busy kernel: waiting shows in its row, and is called off there', async ({
  page,
  tmpPath
}) => {
  const panel = await run(
    page,
    tmpPath,
    'busy.ipynb',
    [
      simulated.import,
      simulated.take('x', 6),
      'del x',
      'import time; time.sleep(600)'
    ],
    3
  );
  await startCell(page, 3);
  await expect(row(panel, 'busy.ipynb')).toContainText('busy');
  const plan = await openPlan(page, panel, 'busy.ipynb');
  await expect(plan).toHaveAccessibleName('busy.ipynb is running');
  await page.screenshot({ path: screenshot('free-busy-plan') });
  await expectAccessible(page, '.jp-Vram-FreeDialog');
  await plan.getByRole('button', { name: 'Free when idle' }).click();
  const waiting = page.getByRole('dialog', { name: 'Waiting for busy.ipynb' });
  await expect(waiting).toContainText('waiting…');
  await page.screenshot({ path: screenshot('free-busy-waiting') });
  await waiting.getByRole('button', { name: 'Close' }).last().click();
  await expect(row(panel, 'busy.ipynb')).toContainText('frees when idle');
  await page.screenshot({ path: screenshot('free-busy-row') });

  await row(panel, 'busy.ipynb').click({ button: 'right' });
  await page
    .getByRole('menuitem', { name: 'Don’t Free GPU Memory When Idle' })
    .click();
  await expect(row(panel, 'busy.ipynb')).not.toContainText('frees when idle');
  await expect(row(panel, 'busy.ipynb')).toContainText(/6\.[0-9]\s*GiB/);

  const again = await openPlan(page, panel, 'busy.ipynb');
  await again
    .getByRole('radio', { name: 'Interrupt the cell, then free' })
    .check();
  await again.getByRole('button', { name: 'Interrupt and free' }).click();
  const result = page.getByRole('dialog', { name: 'Done' });
  await expect(result).toContainText(/Freed 6\.0\s*GiB/);
  await page.screenshot({ path: screenshot('free-busy-result') });
  await result.getByRole('button', { name: 'Done' }).click();
  await expect(output(page, 3)).toContainText('KeyboardInterrupt');
});

test('a kernel with a pool that stays (a stand-in for TensorFlow) is told so', async ({
  page,
  tmpPath
}) => {
  const panel = await run(page, tmpPath, 'pool.ipynb', [
    'import tensorflow_stand_in as tf',
    'tf.preallocate(9)',
    'forecast = tf.Sequential(6)'
  ]);
  await expect(row(panel, 'pool.ipynb')).toContainText(/9\.[0-9]\s*GiB/);
  const plan = await openPlan(page, panel, 'pool.ipynb');
  await expect(plan).toContainText(
    'TensorFlow keeps its memory pool until the process ends.'
  );
  await expect(plan).toContainText('forecast.save("forecast.keras")');
  await expect(
    plan.getByRole('checkbox', { name: 'Clear the Keras session' })
  ).toHaveAccessibleDescription(/Returns nothing to the GPU.*0\.0\s*GiB/);
  await page.screenshot({ path: screenshot('free-pool-plan') });
  await expectAccessible(page, '.jp-Vram-FreeDialog');

  await plan.getByRole('checkbox', { name: 'Restart the kernel' }).check();
  await plan
    .getByRole('button', { name: /^Restart and free 9\.[0-9]/ })
    .click();
  const result = page.getByRole('dialog', { name: 'Done' });
  await expect(result).toContainText(/Freed 9\.[0-9]\s*GiB/);
  await page.screenshot({ path: screenshot('free-pool-result') });
  await result.getByRole('button', { name: 'Done' }).click();
  await runCell(page, 0);
  await expect(prompt(page, 0)).toHaveText('[1]:');
});

const PARKED = [simulated.import, simulated.take('x', 6), 'x.nbytes'];

test('a kernel is parked from its menu, and the next cell brings it back', async ({
  page,
  tmpPath
}) => {
  const panel = await run(page, tmpPath, 'park.ipynb', PARKED, 2);
  await expect(row(panel, 'park.ipynb')).toContainText(/6\.[0-9]\s*GiB/);
  await row(panel, 'park.ipynb').click({ button: 'right' });
  await page
    .getByRole('menuitem', { name: 'Park GPU Memory in Host RAM' })
    .click();
  await expect(
    page
      .getByText(/Freed 6\.0\s*GiB of 6\.[0-9]\s*GiB\..*park\.ipynb is parked/)
      .first()
  ).toBeVisible();
  await expect(row(panel, 'park.ipynb')).toContainText(/6\.0\s*GiB in RAM/);
  await expect(badge(page)).toContainText(/Parked · 6\.0\s*GiB in host RAM/);
  await badge(page).hover();
  await expect(page.getByRole('tooltip')).toContainText(
    'Click to restore now.'
  );
  await page.screenshot({ path: screenshot('free-parked') });
  await expectAccessible(page, '.jp-Vram-Panel', '.jp-Vram-Badge');

  await runCell(page, 2);
  await expect(output(page, 2)).toContainText(String(6 * 2 ** 30));
  await expect(row(panel, 'park.ipynb')).toContainText('idle');
  await expect(badge(page)).toContainText(/6\.[0-9]\s*GiB/);
  await expect(badge(page)).not.toContainText('Parked');
});

test('a kernel is parked by its plan, and restored from its badge', async ({
  page,
  tmpPath
}) => {
  const panel = await run(page, tmpPath, 'back.ipynb', PARKED, 2);
  await expect(row(panel, 'back.ipynb')).toContainText(/6\.[0-9]\s*GiB/);
  const plan = await openPlan(page, panel, 'back.ipynb');
  await plan.getByRole('checkbox', { name: /^Park/ }).check();
  await expect(plan).toContainText('tensor can move');
  await page.screenshot({ path: screenshot('free-park-plan') });
  await plan.getByRole('button', { name: /^Free .*6\.0/ }).click();
  const result = page.getByRole('dialog', { name: 'Done' });
  await expect(result).toContainText(/Freed 6\.0\s*GiB/);
  await page.screenshot({ path: screenshot('free-park-result') });
  await result.getByRole('button', { name: 'Done' }).click();

  await expect(badge(page)).toContainText('Parked');
  await badge(page).click();
  await expect(
    page
      .getByText('Restored back.ipynb: its values are on the GPU again.')
      .first()
  ).toBeVisible();
  await expect(badge(page)).not.toContainText('Parked');
  await expect(row(panel, 'back.ipynb')).toContainText(/6\.[0-9]\s*GiB/);
  await page.screenshot({ path: screenshot('free-restored') });
});

test('a notebook is restarted on the CPU, and run again up to its current cell', async ({
  page,
  tmpPath
}) => {
  const panel = await run(
    page,
    tmpPath,
    'move.ipynb',
    [
      'import os; print("sees", os.environ.get("CUDA_VISIBLE_DEVICES"))',
      simulated.import,
      simulated.take('x', 6),
      '1 + 1'
    ],
    3
  );
  await expect(output(page, 0)).toContainText('sees None');
  await page.notebook.selectCells(1);
  const plan = await openPlan(page, panel, 'move.ipynb');
  await plan.getByRole('checkbox', { name: 'Restart the kernel' }).check();
  await plan.getByLabel('Restart on').selectOption('the CPU only');
  await plan
    .getByRole('checkbox', {
      name: 'Then run the notebook again up to the current cell'
    })
    .check();
  await plan
    .getByRole('button', { name: /^Restart and free 6\.[0-9]/ })
    .click();
  const result = page.getByRole('dialog', { name: 'Done' });
  await expect(result).toContainText(/Freed 6\.[0-9]\s*GiB/);
  await result.getByRole('button', { name: 'Done' }).click();
  await expect(output(page, 0)).toContainText('sees -1');
  await expect(prompt(page, 0)).toHaveText('[1]:');
  await expect(prompt(page, 1)).toHaveText('[2]:');
  await runCell(page, 3);
  await expect(prompt(page, 3)).toHaveText('[3]:');
});
