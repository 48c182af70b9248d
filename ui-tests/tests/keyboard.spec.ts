/** Everything is reached and worked without a pointer. */
import { expect, test } from '@jupyterlab/galata';
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import { panel } from '../../src/__tests__/mockup';
import { kernelGrid, openPanel, row } from './lab';
import { plan, report, step } from './plans';
import { Readings } from './readings';

test.use({ autoGoto: false });

let readings: Readings;

test.beforeEach(async ({ page }) => {
  readings = await Readings.serve(page, panel());
  readings.plan = plan();
  await page.goto();
});

test('the palette has every command, and opens the panel', async ({ page }) => {
  await page.keyboard.press('Control+Shift+C');
  const palette = page.getByRole('dialog').or(page.locator('#command-palette'));
  await page.keyboard.type('gpu memory');
  for (const label of [
    'Show GPU Memory',
    'Open GPU Memory in Main Area',
    'Pause GPU Memory Updates',
    'Try a Simulated GPU…',
    'GPU Memory Thresholds…',
    'GPU Memory Lists: Compact',
    'Free GPU Memory…',
    'Release Cached GPU Memory',
    'Park GPU Memory in Host RAM',
    'Restore Parked GPU Memory',
    'Stop Freeing GPU Memory',
    'End Leftover Processes…',
    'Copy GPU Memory Details'
  ]) {
    await expect(
      palette.locator('.lm-CommandPalette-item').filter({ hasText: label })
    ).not.toHaveCount(0);
  }
  await page.keyboard.type(' show');
  await page.keyboard.press('Enter');
  await expect(page.locator('#jp-vram-panel')).toBeVisible();
});

test('Tab stops once at each thing to do, and once in the list', async ({
  page
}) => {
  const side = await openPanel(page);
  await expect(row(side, 'embeddings.ipynb')).toBeVisible();
  await side.getByRole('button', { name: 'Pause updates' }).focus();
  const stops: string[] = [];
  for (;;) {
    stops.push(await focusedName(page));
    await page.keyboard.press('Tab');
    if (!(await side.evaluate(node => node.contains(document.activeElement)))) {
      break;
    }
  }
  expect(stops).toEqual([
    'Pause updates',
    'GPU memory settings',
    'History of GPU 0',
    'History of GPU 1',
    'Free memory of embeddings.ipynb…',
    'Hide this hint for an hour',
    'Kernels',
    'train-resnet.ipynb, 15.8 GiB on GPU 0, 1, busy',
    '3 kernels without GPU memory',
    'Leftover processes',
    'End processes of old-train.ipynb…',
    'Other processes'
  ]);
});

test('arrows, Home, End and letters move in the list', async ({ page }) => {
  const side = await openPanel(page);
  const at = (name: string) => expect(row(side, name)).toBeFocused();
  await row(side, 'train-resnet.ipynb').focus();
  await page.keyboard.press('ArrowDown');
  await at('embeddings.ipynb');
  await page.keyboard.press('ArrowUp');
  await at('train-resnet.ipynb');
  await page.keyboard.press('End');
  await at('sandbox.ipynb');
  await page.keyboard.press('Home');
  await at('train-resnet.ipynb');
  await page.keyboard.press('l');
  await at('llm-eval.ipynb');
  await page.keyboard.press('s');
  await at('sandbox.ipynb');
});

test('a row opens by Enter, and its buttons are inside', async ({ page }) => {
  const side = await openPanel(page);
  const embeddings = row(side, 'embeddings.ipynb');
  await embeddings.focus();
  await page.keyboard.press('Enter');
  await expect(embeddings).toHaveAttribute('aria-expanded', 'true');
  await page.keyboard.press('ArrowRight');
  await expect(embeddings.getByRole('button', { name: 'Free…' })).toBeFocused();
  await page.keyboard.press('ArrowRight');
  await expect(
    embeddings.getByRole('button', { name: 'More for embeddings.ipynb' })
  ).toBeFocused();
  await page.keyboard.press('ArrowRight');
  await expect(
    kernelGrid(side).getByRole('button', { name: 'Release' })
  ).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(embeddings).toBeFocused();
  await page.keyboard.press('ArrowLeft');
  await expect(embeddings).toHaveAttribute('aria-expanded', 'false');
});

test('the focus stays with its kernel when sizes change places', async ({
  page
}) => {
  const side = await openPanel(page);
  await row(side, 'sandbox.ipynb').focus();
  const reading = panel();
  readings.show({
    ...reading,
    kernels: reading.kernels.map(kernel =>
      kernel.id === 'sandbox' ? { ...kernel, bytes: 20 * 2 ** 30 } : kernel
    )
  });
  await expect(kernelGrid(side).getByRole('row').first()).toHaveAccessibleName(
    /^sandbox.ipynb/
  );
  await expect(row(side, 'sandbox.ipynb')).toBeFocused();
});

test('Shift+F10 opens the menu, Escape returns to the row', async ({
  page
}) => {
  const side = await openPanel(page);
  await row(side, 'llm-eval.ipynb').focus();
  await page.keyboard.press('Shift+F10');
  await expect(
    page.getByRole('menuitem', { name: 'Restart Kernel…' })
  ).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('menu')).toHaveCount(0);
  await expect(row(side, 'llm-eval.ipynb')).toBeFocused();
  await page.keyboard.press('Shift+F10');
  // From the end: Copy, Open, Shut Down, Restart.
  for (let i = 0; i < 4; i++) {
    await page.keyboard.press('ArrowUp');
  }
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Restart Kernel?' });
  await expect(
    dialog.getByRole('button', { name: 'Cancel Kernel Restart' })
  ).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(row(side, 'llm-eval.ipynb')).toBeFocused();
});

test('F opens the plan; Enter frees while nothing is lost', async ({
  page
}) => {
  readings.report = report([step('collect', 2.1), step('release-cache', 3.8)]);
  const side = await openPanel(page);
  const dialog = await openPlan(page, side);
  await expect(
    dialog.getByRole('button', { name: 'Free 5.9 GiB' })
  ).toBeFocused();
  await page.keyboard.press('Enter');
  const result = page.getByRole('dialog', { name: 'Done' });
  await expect(result).toContainText(/Freed 5\.9\s*GiB/);
  await expect(result.getByRole('button', { name: 'Done' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(result).toHaveCount(0);
  await expect(row(side, 'embeddings.ipynb')).toBeFocused();
});

test('Enter does not run a plan that loses work', async ({ page }) => {
  const side = await openPanel(page);
  const dialog = await openPlan(page, side);
  const restart = dialog.getByRole('checkbox', { name: 'Restart the kernel' });
  // No answer is prepared: a run would fail, and say so.
  await expect(
    dialog.getByRole('button', { name: 'Free 5.9 GiB' })
  ).toBeFocused();
  await page.keyboard.press('Shift+Tab');
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Shift+Tab');
  await expect(restart).toBeFocused();
  await page.keyboard.press('Space');
  await expect(restart).toBeChecked();
  await page.keyboard.press('Enter');
  const run = dialog.getByRole('button', { name: 'Restart and free 11.2 GiB' });
  await expect(run).toBeEnabled();
  await expect(restart).toBeChecked();
  await page.keyboard.press('Escape');
  await expect(dialog).toHaveCount(0);
  await expect(row(side, 'embeddings.ipynb')).toBeFocused();
});

test('Tab stays inside the plan', async ({ page }) => {
  const side = await openPanel(page);
  const dialog = await openPlan(page, side);
  await expect(
    dialog.getByRole('button', { name: 'Free 5.9 GiB' })
  ).toBeFocused();
  await page.keyboard.press('Tab');
  await expect(dialog.getByRole('button', { name: 'Close' })).toBeFocused();
  await page.keyboard.press('Shift+Tab');
  await expect(
    dialog.getByRole('button', { name: 'Free 5.9 GiB' })
  ).toBeFocused();
});

async function openPlan(
  page: IJupyterLabPageFixture,
  side: Locator
): Promise<Locator> {
  await row(side, 'embeddings.ipynb').focus();
  await page.keyboard.press('f');
  const dialog = page.getByRole('dialog', {
    name: 'Free GPU memory of embeddings.ipynb'
  });
  await expect(dialog.getByRole('checkbox').first()).toBeVisible();
  return dialog;
}

/** The accessible name of what has the focus, as far as it is in the document itself. */
function focusedName(page: IJupyterLabPageFixture): Promise<string> {
  return page.evaluate(() => {
    const node = document.activeElement!;
    const name =
      node.getAttribute('aria-label') ??
      node.querySelector('.jp-Vram-ellipsis')?.textContent ??
      node.textContent ??
      '';
    return name.replace(/\s+/g, ' ');
  });
}
