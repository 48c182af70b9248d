/** Each plugin disabled alone leaves the others at work. */
import { expect, test } from '@jupyterlab/galata';
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import {
  badge,
  openNotebook,
  row,
  runCell,
  shutDownAll,
  simulated
} from './lab';

test.use({ autoGoto: false, kernels: null, sessions: null });

test.afterEach(async ({ page }) => {
  await shutDownAll(page);
});

/** What each plugin alone brings to the page. */
const PARTS: Record<string, (page: IJupyterLabPageFixture) => Locator> = {
  badge: badge,
  panel: page => page.getByRole('tab', { name: 'GPU memory' }),
  running: page =>
    page.locator('#jp-running-sessions').getByText(/3\.[0-9]\s*GiB/),
  statusbar: page => page.getByRole('button', { name: /^GPU memory\./ })
};

for (const off of [...Object.keys(PARTS), 'free', 'service']) {
  test(`without ${off}`, async ({ page, tmpPath }) => {
    await disable(page, `jupyterlab-vram:${off}`);
    await page.goto();
    await openNotebook(page, tmpPath, 'mine.ipynb', [
      `${simulated.import}\n${simulated.take('x', 3)}`
    ]);
    await runCell(page, 0);
    await page.sidebar.openTab('jp-running-sessions');
    const gone = (name: string): boolean => name === off || off === 'service';
    // What is there first: by then the rest would be, too.
    for (const [name, part] of Object.entries(PARTS)) {
      if (!gone(name)) {
        await expect(part(page), name).toHaveCount(1);
      }
    }
    for (const [name, part] of Object.entries(PARTS)) {
      if (gone(name)) {
        await expect(part(page), name).toHaveCount(0);
      }
    }
    if (off === 'panel' || off === 'service') {
      return;
    }
    await page.getByRole('tab', { name: 'GPU memory' }).click();
    const mine = row(page.locator('#jp-vram-panel'), 'mine.ipynb');
    await expect(mine).toContainText(/3\.[0-9]\s*GiB/);
    await mine.hover();
    await expect(mine.getByRole('button', { name: 'Free…' })).toHaveCount(
      off === 'free' ? 0 : 1
    );
    await mine.click({ button: 'right' });
    await expect(
      page.getByRole('menuitem', { name: 'Restart Kernel…' })
    ).toHaveCount(off === 'free' ? 0 : 1);
  });
}

/** Change the page's configuration as `jupyter labextension disable` would. */
async function disable(
  page: IJupyterLabPageFixture,
  plugin: string
): Promise<void> {
  await page.addInitScript(plugin => {
    new MutationObserver((_, observer) => {
      // Whole before any script of the page runs: those are deferred.
      const script = document.getElementById('jupyter-config-data');
      if (script?.nextSibling) {
        observer.disconnect();
        const config = JSON.parse(script.textContent!);
        config.disabledExtensions = [plugin];
        script.textContent = JSON.stringify(config);
      }
    }).observe(document, { childList: true, subtree: true });
  }, plugin);
}
