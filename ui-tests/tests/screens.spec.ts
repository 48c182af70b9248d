/** Every screen of the panel, with the drawings' figures, in every theme. */
import { expect, test } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import {
  fleet,
  gib,
  panel,
  silent,
  TAKEN_AT
} from '../../src/__tests__/mockup';
import { SCHEMA } from '../../src/service/wire';
import { expectAccessible, THEMES, withTheme } from './accessible';
import { kernelGrid, openPanel, row } from './lab';
import { Readings } from './readings';
import { expectTexts, SCREENS, shoot } from './screens';

test.use({ autoGoto: false });

for (const theme of THEMES) {
  test.describe(theme, () => {
    test.use({ mockSettings: withTheme(theme) });

    test('the panel shows each state of the GPUs', async ({ page }) => {
      const readings = await Readings.serve(page, SCREENS[0].reading);
      await page.goto();
      const panel = await openPanel(page);
      for (const { name, reading, texts, kernels } of SCREENS) {
        await test.step(name, async () => {
          readings.show(reading);
          await expectTexts(panel, texts);
          await expectRows(panel, kernels);
          await shoot(panel, `${name} ${theme}`);
          await expectAccessible(page, '#jp-vram-panel');
        });
      }
    });

    test('the panel shows how browser and server stand', async ({ page }) => {
      const readings = await Readings.serve(page, panel());
      await page.goto();
      let side = await openPanel(page);
      await expectTexts(side, ['live', '22.6 of 24.0 GiB used']);

      await test.step('paused', async () => {
        await side.getByRole('button', { name: 'Pause updates' }).click();
        await expectTexts(side, ['paused at', '22.6 of 24.0 GiB used']);
        await expectAccessible(page, '#jp-vram-panel');
        await side.getByRole('button', { name: 'Pause updates' }).click();
        await expectTexts(side, ['live']);
      });
      await test.step('a driver that hangs', async () => {
        readings.show(silent());
        await expectTexts(side, [
          'driver hangs',
          /The NVIDIA driver has not answered for 10 s\..*Numbers are from .* and may be wrong\./,
          'Look again',
          '22.6 of 24.0 GiB used'
        ]);
        await expectAccessible(page, '#jp-vram-panel');
        readings.show(panel());
        await expectTexts(side, ['live']);
      });
      await test.step('another version', async () => {
        readings.show({ ...panel(), schema: SCHEMA + 1 });
        await expectTexts(side, [
          'reload',
          'The server was upgraded and this page is of the version before'
        ]);
        await shoot(side, `reload ${theme}`);
        await expectAccessible(page, '#jp-vram-panel');
        readings.show(panel());
        await side.getByRole('button', { name: 'Reload the page' }).click();
        await page.waitForEvent('load');
        await page.locator('#jupyterlab-splash').waitFor({ state: 'detached' });
        await page.getByRole('tab', { name: 'Launcher' }).waitFor();
        side = await openPanel(page);
        await expectTexts(side, ['live']);
      });
      await test.step('5g stale', async () => {
        readings.silence();
        await expectTexts(side, [
          /stopped \d+ s ago/,
          /The server does not answer\. Numbers are from .* and may be wrong\. Actions are off until it is back\./,
          'Retry now',
          '22.6 of 24.0 GiB used',
          'was busy',
          'was idle'
        ]);
        await row(side, 'embeddings.ipynb').hover();
        await expect(
          row(side, 'embeddings.ipynb').getByRole('button', { name: 'Free…' })
        ).toBeDisabled();
        await shoot(side, `5g stale ${theme}`);
        await expectAccessible(page, '#jp-vram-panel');
      });
      await test.step('forbidden', async () => {
        readings.refuse(403);
        await expectTexts(side, ['no access', 'You may not see this']);
        await shoot(side, `forbidden ${theme}`);
        await expectAccessible(page, '#jp-vram-panel');
      });
      await test.step('server part missing', async () => {
        readings.refuse(404);
        // In its place after the next question, asked by hand or by itself.
        await side.getByRole('button', { name: 'Look again' }).click();
        await expectTexts(side, [
          'no server part',
          'The server part is missing',
          'jupyter server extension list'
        ]);
        await shoot(side, `missing ${theme}`);
        await expectAccessible(page, '#jp-vram-panel');
      });
    });

    test('a row opens, a history opens, a menu opens', async ({ page }) => {
      const readings = await Readings.serve(page, panel());
      readings.history = {
        version: panel().version,
        schema: SCHEMA,
        step: 60,
        from: TAKEN_AT - 600,
        gpus: {
          'GPU-0': {
            used: Array(11).fill(gib(22.6)),
            utilization: Array(11).fill(0.97)
          }
        },
        kernels: {
          embeddings: { 'GPU-0': Array(11).fill(gib(11.2)) },
          'train-resnet': { 'GPU-0': Array(11).fill(gib(7.9)) }
        }
      };
      await page.goto();
      const side = await openPanel(page);
      await side.getByRole('button', { name: 'History of GPU 0' }).click();
      await expect(
        side.getByRole('img', { name: 'History of the memory of GPU 0' })
      ).toBeVisible();
      await expect(
        side.getByRole('button', { name: '10 min' })
      ).toHaveAttribute('aria-pressed', 'true');
      await row(side, 'embeddings.ipynb').click();
      await expectTexts(side, [
        'In use by PyTorch',
        '6.9 GiB',
        'Cached by PyTorch',
        'Release',
        '3.8 GiB',
        'Driver context',
        '0.5 GiB',
        'measured 3 s ago'
      ]);
      await shoot(side, `1b history and row ${theme}`);
      await expectAccessible(page, '#jp-vram-panel');

      await row(side, 'embeddings.ipynb').hover();
      await row(side, 'embeddings.ipynb')
        .getByRole('button', { name: 'More for embeddings.ipynb' })
        .click();
      await expect(
        page.locator('.jp-Vram-KernelMenu').getByRole('menuitem')
      ).toHaveText([
        /^Free GPU Memory…/,
        /^Park GPU Memory in Host RAM/,
        /^Interrupt Kernel/,
        /^Restart Kernel…/,
        /^Shut Down Kernel…/,
        /^Open Notebook/,
        /^Copy GPU Memory Details/
      ]);
      await shoot(page.locator('#main'), `1c menu ${theme}`);
      await expectAccessible(page, '.jp-Vram-KernelMenu');
    });

    test('many GPUs filter the list, and fill the table', async ({ page }) => {
      await Readings.serve(page, fleet());
      await page.goto();
      const side = await openPanel(page);
      await side.getByRole('button', { name: /^GPU 7:/ }).click();
      await expectTexts(side, ['Kernels · 7 of 30', '49.1 GiB']);
      await expectRows(side, [
        'vit-probe',
        'reward-model',
        'audio-sep',
        'depth-maps',
        'text2sql',
        'topic-model',
        'sandbox'
      ]);
      await shoot(side, `6b filter ${theme}`);
      await expectAccessible(page, '#jp-vram-panel');
      await side.getByRole('button', { name: /^GPU 7:/ }).click();
      await side.getByRole('button', { name: 'Filter kernels' }).click();
      await side.getByRole('button', { name: /^Idle ≥ 1 h/ }).click();
      await expectTexts(side, ['Kernels · 7 of 30', '141.8 GiB']);
      await expectRows(side, [
        'llm-eval',
        'segment-cells',
        'gnn-molecules',
        'ocr-batch',
        'protein-fold',
        'depth-maps',
        'bandit-sim'
      ]);
      await expectAccessible(page, '#jp-vram-panel');

      await side.getByRole('button', { name: 'GPU memory settings' }).click();
      await page.getByRole('menuitem', { name: 'Open in Main Area' }).click();
      const table = page.getByRole('table', {
        name: 'Kernels that hold GPU memory'
      });
      await expect(table.getByRole('row')).toHaveCount(31);
      await expect(table.getByRole('row').nth(1)).toContainText(
        'train-resnet.ipynb'
      );
      await table.getByRole('button', { name: 'Kernel' }).click();
      await expect(table.getByRole('row').nth(1)).toContainText(
        'anomaly-ae.ipynb'
      );
      await shoot(page.locator('#jp-vram-table'), `6d table ${theme}`);
      await expectAccessible(page, '#jp-vram-table');
    });
  });
}

async function expectRows(
  panel: Locator,
  names: readonly string[]
): Promise<void> {
  if (names.length === 0) {
    await expect(kernelGrid(panel)).toHaveCount(0);
    return;
  }
  const rows = kernelGrid(panel).locator('[role="row"][aria-level="1"]');
  for (const [i, name] of names.entries()) {
    await expect(rows.nth(i)).toHaveAttribute(
      'aria-label',
      new RegExp(`^${name}`)
    );
  }
}
