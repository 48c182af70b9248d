/** Giving memory back where it is not easy: running cells, other kernels, ends and survivors. */
import { expect, test } from '@jupyterlab/galata';
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import {
  badge,
  kernelOf,
  openNotebook,
  openPanel,
  openPlan,
  output,
  prompt,
  row,
  runCell,
  shutDownAll,
  simulated,
  startCell
} from './lab';

// Galata's stand-ins for these lists leave a restarted kernel's page waiting for ever.
test.use({ kernels: null, sessions: null });

test.afterEach(async ({ page }) => {
  await shutDownAll(page);
});

const HOLD = [simulated.import, simulated.take('x', 6)];
const SLEEP = 'import time; time.sleep(600)';

async function hold(
  page: IJupyterLabPageFixture,
  tmpPath: string,
  name: string,
  ...more: string[]
): Promise<Locator> {
  const panel = await openPanel(page);
  await openNotebook(page, tmpPath, name, [...HOLD, ...more]);
  await runCell(page, 0);
  await runCell(page, 1);
  await expect(row(panel, name)).toContainText(/6\.[0-9]\s*GiB/);
  return panel;
}

test('a running cell can be interrupted, and its cache freed', async ({
  page,
  tmpPath
}) => {
  const panel = await hold(page, tmpPath, 'busy.ipynb', 'del x', SLEEP);
  await runCell(page, 2);
  await startCell(page, 3);
  await expect(row(panel, 'busy.ipynb')).toContainText('busy');
  const plan = await openPlan(page, panel, 'busy.ipynb');
  await expect(plan).toHaveAccessibleName('busy.ipynb is running');
  await expect(plan).toContainText(
    /Memory can.t be freed safely while a cell runs\./
  );
  await expect(plan.getByRole('radio')).toHaveCount(4);
  await expect(
    plan.getByRole('radio', { name: 'Wait, and free when it becomes idle' })
  ).toBeChecked();
  await plan
    .getByRole('radio', { name: 'Interrupt the cell, then free' })
    .check();
  await plan.getByRole('button', { name: 'Interrupt and free' }).click();
  const result = page.getByRole('dialog', { name: 'Done' });
  await expect(result).toContainText(/Freed 6\.0\s*GiB/);
  await result.getByRole('button', { name: 'Done' }).click();
  await expect(output(page, 3)).toContainText('KeyboardInterrupt');
  await expect(row(panel, 'busy.ipynb')).toContainText('idle');
});

test('a running cell is waited for, also with the dialog closed', async ({
  page,
  tmpPath
}) => {
  const panel = await hold(
    page,
    tmpPath,
    'wait.ipynb',
    'del x',
    'import time; time.sleep(6)'
  );
  await runCell(page, 2);
  await startCell(page, 3);
  await expect(row(panel, 'wait.ipynb')).toContainText('busy');
  const plan = await openPlan(page, panel, 'wait.ipynb');
  await plan.getByRole('button', { name: 'Free when idle' }).click();
  await expect(
    page.getByRole('dialog', { name: 'Waiting for wait.ipynb' })
  ).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(
    page.getByText(/Freed 6\.0\s*GiB in wait\.ipynb/).first()
  ).toBeVisible();
  await expect(prompt(page, 3)).toHaveText('[4]:');
});

test('a kernel that is not Python’s can be restarted, nothing else', async ({
  page,
  tmpPath
}) => {
  const panel = await openPanel(page);
  await openNotebook(page, tmpPath, 'other.ipynb', ['8'], 'echo');
  await runCell(page, 0);
  await expect(row(panel, 'other.ipynb')).toContainText(/8\.[0-9]\s*GiB/);
  const plan = await openPlan(page, panel, 'other.ipynb');
  await expect(plan.getByRole('checkbox', { disabled: false })).toHaveCount(2);
  await expect(plan).toContainText('Nothing is ticked');
  await plan.getByRole('checkbox', { name: 'Restart the kernel' }).check();
  await plan
    .getByRole('button', { name: /^Restart and free (up to )?8\.[0-9]/ })
    .click();
  await expect(page.getByRole('dialog', { name: 'Done' })).toContainText(
    /Freed 8\.[0-9]\s*GiB/
  );
});

test('a kernel whose notebook is closed is shut down from its row', async ({
  page,
  tmpPath
}) => {
  const panel = await hold(page, tmpPath, 'closed.ipynb');
  await page.notebook.save();
  await page.notebook.close();
  await row(panel, 'closed.ipynb').click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Shut Down Kernel…' }).click();
  const question = page.getByRole('dialog', { name: 'Shut Down Kernel?' });
  await expect(question).toContainText(/Returns 6\.[0-9]\s*GiB/);
  await question
    .getByRole('button', { name: 'Confirm Kernel Shutdown' })
    .click();
  await expect(
    page.getByText(/closed\.ipynb was shut down\. Freed 6\.[0-9]\s*GiB/).first()
  ).toBeVisible();
  await expect(row(panel, 'closed.ipynb')).toHaveCount(0);
  await expect(panel).toContainText(/23\.6\s*GiB free/);
});

test('a kernel that ends behind an open plan is told, and nothing is lost', async ({
  page,
  tmpPath
}) => {
  const panel = await hold(page, tmpPath, 'gone.ipynb', 'del x');
  await runCell(page, 2);
  const plan = await openPlan(page, panel, 'gone.ipynb');
  const free = plan.getByRole('button', { name: /^Free/ });
  await expect(free).toBeEnabled();
  await page.request.delete(
    `/api/kernels/${await kernelOf(page, `${tmpPath}/gone.ipynb`)}`
  );
  await free.click();
  await expect(plan.getByRole('alert')).toContainText(/\w+ .*\./);
  await plan.getByRole('button', { name: 'Close' }).last().click();
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(output(page, 1)).toBeAttached();
  await expect(row(panel, 'gone.ipynb')).toHaveCount(0);
});

test('a child that survives a restart is named, and can be ended', async ({
  page,
  tmpPath
}) => {
  const child = [
    'import subprocess, sys',
    'code = """',
    'from jupyterlab_vram import simulated as gpu',
    'import time',
    'x = gpu.empty(4 * 2**30, dtype="uint8")',
    'time.sleep(120)',
    '"""',
    'child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)'
  ].join('\n');
  const panel = await hold(page, tmpPath, 'parent.ipynb', child);
  await runCell(page, 2);
  await expect(row(panel, 'parent.ipynb')).toContainText(/10\.[0-9]\s*GiB/);
  await row(panel, 'parent.ipynb').click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Restart Kernel…' }).click();
  const question = page.getByRole('dialog', { name: 'Restart Kernel?' });
  await expect(question).toContainText(/Returns up to 10\.[0-9]\s*GiB/);
  await question
    .getByRole('button', { name: 'Confirm Kernel Restart' })
    .click();
  const toast = page.getByRole('alert').filter({
    hasText:
      /parent\.ipynb restarted, but 4\.[0-9]\s*GiB stays with 1 process it had started/
  });
  await expect(toast.first()).toBeVisible({ timeout: 30000 });
  await expect(
    panel.getByRole('group', { name: 'Leftover processes' })
  ).toContainText(/parent\.ipynb.*4\.[0-9]\s*GiB/);

  await toast.first().getByRole('button', { name: 'End…' }).click();
  const end = page.getByRole('dialog', { name: 'End leftover processes?' });
  await expect(end).toContainText(/1 process .*holds 4\.[0-9]\s*GiB/);
  await end.getByRole('button', { name: 'End 1 process' }).click();
  await expect(page.getByText('1 process ended.').first()).toBeVisible();
  await expect(panel).toContainText(/23\.6\s*GiB free/);
  await expect(
    panel.getByRole('group', { name: 'Leftover processes' })
  ).toHaveCount(0);
});

test('a server that stops answering is said, and comes back by itself', async ({
  page,
  tmpPath
}) => {
  test.skip(process.platform === 'win32', 'Windows can’t hold a process.');
  const panel = await hold(
    page,
    tmpPath,
    'stays.ipynb',
    'import os; print("server", os.getppid())'
  );
  await runCell(page, 2);
  const text = await output(page, 2).innerText();
  const server = Number(/server (\d+)/.exec(text)![1]);
  expect(server).toBeGreaterThan(1);
  process.kill(server, 'SIGSTOP');
  try {
    await expect(panel).toContainText(
      /The server does not answer\. Numbers are from .* and may be wrong\./
    );
    await expect(panel).toContainText(/stopped \d+\s*s ago/);
    await expect(row(panel, 'stays.ipynb')).toContainText('was idle');
    await expect(row(panel, 'stays.ipynb')).toContainText(/6\.[0-9]\s*GiB/);
    await expect(badge(page)).toHaveClass(/jp-mod-stale/);
    await row(panel, 'stays.ipynb').hover();
    await expect(
      row(panel, 'stays.ipynb').getByRole('button', { name: 'Free…' })
    ).toBeDisabled();
  } finally {
    process.kill(server, 'SIGCONT');
  }
  await expect(panel).not.toContainText('The server does not answer.', {
    timeout: 40000
  });
  await expect(row(panel, 'stays.ipynb')).toContainText('idle');
  await expect(badge(page)).not.toHaveClass(/jp-mod-stale/);
});
