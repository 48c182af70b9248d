/** The main job with two kernels that run the CUDA build of torch, on the simulated driver in C. */
import { type IJupyterLabPageFixture, expect, test } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import {
  badge,
  openNotebook,
  openPanel,
  output,
  prompt,
  row,
  runCell,
  screenshot,
  shutDownAll
} from '../tests/lab';

// Galata's stand-ins for these lists leave a restarted kernel's page waiting for ever.
test.use({ kernels: null, sessions: null });

test.skip(
  !process.env.FRAMEWORKS_PYTHON,
  'The CUDA builds are not set up: npm run test:frameworks does it, where there is gcc.'
);

test.afterEach(async ({ page }) => {
  await shutDownAll(page);
});

const KERNEL = 'vram-frameworks';
const take = (name: string, gib: number) =>
  `${name} = torch.empty(${gib} << 30, dtype=torch.uint8, device="cuda")`;
const A = ['import torch', take('x', 18), 'del x'];
const B = ['import torch', take('y', 8)];

test('torch gives the 18 GiB of its cache back in two clicks', async ({
  page,
  tmpPath
}) => {
  const panel = await openPanel(page);
  await takeAll(page, panel, tmpPath);
  await runCell(page, 2);
  await expect(prompt(page, 2)).toHaveText('[3]:');
  await runOut(page, tmpPath);
  await page.screenshot({ path: screenshot('torch-panel') });

  await row(panel, 'first.ipynb').hover();
  await row(panel, 'first.ipynb')
    .getByRole('button', { name: 'Free…' })
    .click();
  const plan = page.getByRole('dialog', { name: /Free GPU memory of first/ });
  await expect(
    plan.getByRole('checkbox', { name: /Release cached/ })
  ).toBeChecked();
  await page.screenshot({ path: screenshot('torch-plan') });
  const before = await used(page);
  await plan.getByRole('button', { name: /^Free .*18\.0/ }).click();
  const result = page.getByRole('dialog');
  await expect(result).toContainText(/Freed 18\.0\s*GiB/);
  await expect(result).toContainText('read from the driver');
  await page.screenshot({ path: screenshot('torch-result') });
  expect(before - (await used(page))).toBe(18 * 2 ** 30);
  await result.getByRole('button', { name: 'Done' }).click();

  await expectRoom(page);
});

test('torch gives back what its variables hold by Restart', async ({
  page,
  tmpPath
}) => {
  const panel = await openPanel(page);
  await takeAll(page, panel, tmpPath);
  await runOut(page, tmpPath);

  await row(panel, 'first.ipynb').click({ button: 'right' });
  await page.getByRole('menuitem', { name: /Restart/ }).click();
  const confirm = page.getByRole('dialog', { name: /Restart Kernel/ });
  await expect(confirm).toContainText(/[Rr]eturns 18\.3\s*GiB/);
  await page.screenshot({ path: screenshot('torch-restart') });
  await confirm.getByRole('button', { name: 'Confirm Kernel Restart' }).click();
  await expect(
    page.getByText(/first.*restarted. Freed 18\.3\s*GiB/).first()
  ).toBeVisible({ timeout: 20000 });
  await page.screenshot({ path: screenshot('torch-restarted') });

  await expectRoom(page);
  await page.notebook.activate('first.ipynb');
  await runCell(page, 0);
  await expect(prompt(page, 0)).toHaveText('[1]:');
});

/** A holds 18 of 24 GiB and the context of 300 MiB, and the panel names it. */
async function takeAll(
  page: IJupyterLabPageFixture,
  panel: Locator,
  tmpPath: string
): Promise<void> {
  await openNotebook(page, tmpPath, 'first.ipynb', A, KERNEL);
  await runCell(page, 0);
  await expect(prompt(page, 0)).toHaveText('[1]:');
  await runCell(page, 1);
  await expect(row(panel, 'first.ipynb')).toContainText(/18\.3\s*GiB/, {
    timeout: 2000
  });
}

/** B finds no room. */
async function runOut(
  page: IJupyterLabPageFixture,
  tmpPath: string
): Promise<void> {
  await openNotebook(page, tmpPath, 'second.ipynb', B, KERNEL);
  await runCell(page, 0);
  await expect(prompt(page, 0)).toHaveText('[1]:');
  await runCell(page, 1);
  await expect(output(page, 1)).toContainText('OutOfMemoryError');
  await expect(output(page, 1)).toContainText(
    'CUDA out of memory. Tried to allocate 8.00 GiB.'
  );
}

/** B's cell runs now. */
async function expectRoom(page: IJupyterLabPageFixture): Promise<void> {
  await runCell(page, 1);
  await expect(prompt(page, 1)).toHaveText('[3]:');
  await expect(output(page, 1)).not.toContainText('OutOfMemoryError');
  await expect(badge(page)).toContainText(/8\.3/);
}

/** Bytes in use on the only GPU, by a reading of the driver. */
async function used(page: IJupyterLabPageFixture): Promise<number> {
  const answer = await page.request.get('/jupyterlab-vram/snapshot');
  const snapshot = await answer.json();
  expect(snapshot.source).toBe('nvml');
  return snapshot.gpus[0].memory.used;
}
