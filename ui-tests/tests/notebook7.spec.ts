/** Notebook 7: badge, right panel and toasts. */
import { expect, test } from '@jupyterlab/galata';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { badge, row, shutDownAll, simulated, writeNotebook } from './lab';

test.use({
  appPath: '',
  autoGoto: false,
  kernels: null,
  sessions: null,
  waitForApplication: async ({ baseURL: _ }, use) => {
    await use(async page => {
      await page.locator('#main-panel').waitFor();
    });
  }
});

test.afterEach(async ({ page }) => {
  await shutDownAll(page);
});

test('a notebook page has badge, panel and toasts', async ({
  page,
  tmpPath
}) => {
  await writeNotebook(page, tmpPath, 'seven.ipynb', [
    `${simulated.import}\n${simulated.take('x', 7)}`
  ]);
  await page.goto(`notebooks/${tmpPath}/seven.ipynb`);
  await expect(page.getByText('Python 3 (ipykernel)').first()).toBeVisible();
  // Before its kernel has connected, the button only goes on to the next cell.
  await page.waitForFunction(() => {
    const { currentWidget } = window.jupyterapp.shell;
    const { sessionContext } = currentWidget as unknown as NotebookPanel;
    return sessionContext.session?.kernel?.status === 'idle';
  });
  await page.getByRole('button', { name: /^Run this cell/ }).click();
  await expect(badge(page)).toContainText(/7\.[0-9]\s*GiB/);

  await badge(page).click();
  const panel = page.locator('#jp-vram-panel');
  await expect(row(panel, 'seven.ipynb')).toBeFocused();
  await expect(row(panel, 'seven.ipynb')).toContainText(/7\.[0-9]\s*GiB/);
  await expect(panel).toContainText('SIMULATED');

  await row(panel, 'seven.ipynb').click({ button: 'right' });
  await page.getByRole('menuitem', { name: 'Restart Kernel…' }).click();
  await page
    .getByRole('dialog', { name: 'Restart Kernel?' })
    .getByRole('button', { name: 'Confirm Kernel Restart' })
    .click();
  await expect(
    page.getByText(/seven\.ipynb restarted\. Freed 7\.[0-9]\s*GiB/).first()
  ).toBeVisible();
  await expect(badge(page)).toBeHidden();
});
