/** A notebook's memory in its toolbar, in the running list and in the status bar. */
import { expect, test } from '@jupyterlab/galata';
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import { fleet, panel, windows } from '../../src/__tests__/mockup';
import { expectAccessible, THEMES, withTheme } from './accessible';
import {
  badge,
  kernelOf,
  openNotebook,
  row,
  runCell,
  shutDownAll,
  simulated
} from './lab';
import { Readings, withKernel } from './readings';
import { expectTexts, shoot } from './screens';

test.use({ kernels: null, sessions: null });

test.afterEach(async ({ page }) => {
  await shutDownAll(page);
});

const side = (page: IJupyterLabPageFixture): Locator =>
  page.locator('#jp-vram-panel');

const status = (page: IJupyterLabPageFixture): Locator =>
  page.getByRole('button', { name: /^GPU memory\./ });

const tip = (page: IJupyterLabPageFixture): Locator =>
  page.getByRole('tooltip');

async function hold(
  page: IJupyterLabPageFixture,
  tmpPath: string,
  gib: number
): Promise<void> {
  await openNotebook(page, tmpPath, 'mine.ipynb', [
    `${simulated.import}\n${simulated.take('x', gib)}`
  ]);
  await runCell(page, 0);
  await expect(badge(page)).toContainText(new RegExp(`${gib}\\.[0-9]\\s*GiB`));
}

test('a click on the badge opens the panel at the row', async ({
  page,
  tmpPath
}) => {
  await hold(page, tmpPath, 5);
  await badge(page).hover();
  await expect(tip(page)).toContainText(
    /This notebook: 5\.[0-9]\s*GiB on GPU 0/
  );
  await expect(tip(page)).toContainText('Simulated: this is no real GPU.');
  await badge(page).click();
  await expect(tip(page)).toBeHidden();
  await expect(row(side(page), 'mine.ipynb')).toBeFocused();
});

test('a click on the badge of a nearly full GPU opens the plan', async ({
  page,
  tmpPath
}) => {
  await hold(page, tmpPath, 22);
  await expect(badge(page)).toContainText(/· 9[0-9]\s*% full/);
  await badge(page).click();
  await expect(
    page.getByRole('dialog', { name: 'Free GPU memory of mine.ipynb' })
  ).toBeVisible();
});

test('the badge works by keyboard', async ({ page, tmpPath }) => {
  await hold(page, tmpPath, 5);
  // As Tab would: a focus that shows.
  await page.keyboard.press('Escape');
  await badge(page).focus();
  await expect(tip(page)).toBeVisible();
  await expect(badge(page)).toHaveAccessibleDescription(/This notebook: 5\./);
  await page.keyboard.press('Escape');
  await expect(tip(page)).toBeHidden();
  await page.keyboard.press('Shift+F10');
  await expect(
    page.getByRole('menuitem', { name: 'Restart Kernel…' })
  ).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(badge(page)).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(row(side(page), 'mine.ipynb')).toBeFocused();
});

test('the running list shows the size, the status bar what is free', async ({
  page,
  tmpPath
}) => {
  await hold(page, tmpPath, 5);
  await page.sidebar.openTab('jp-running-sessions');
  await expect(page.locator('#jp-running-sessions')).toContainText(
    /5\.[0-9]\s*GiB/
  );
  await expect(status(page)).toContainText(/GPU 0.*18\.[0-9]\s*GiB free/);
  await status(page).click();
  await expect(side(page)).toBeVisible();
  await status(page).click();
  await expect(side(page)).toBeHidden();
});

for (const theme of THEMES) {
  test.describe(theme, () => {
    test.use({ autoGoto: false, mockSettings: withTheme(theme) });

    test('each badge is readable', async ({ page, tmpPath }) => {
      const readings = await Readings.serve(page, panel());
      await page.goto();
      await openNotebook(page, tmpPath, 'mine.ipynb', ['']);
      const id = await kernelOf(page, `${tmpPath}/mine.ipynb`);
      for (const { name, reading, kernel, text, tips } of [
        {
          name: '3a normal',
          reading: panel(),
          kernel: 'llm-eval',
          text: '5.4 GiB',
          tips: [
            'This notebook: 5.4 GiB on GPU 1',
            'GPU 1: 10.0 GiB free of 24.0 GiB. Click to open.'
          ]
        },
        {
          name: '3b high',
          reading: panel(),
          kernel: 'train-resnet',
          text: '15.8 GiB · 94 % full',
          tips: [
            'GPU 0 is nearly full: 1.4 GiB free',
            'This notebook 7.9 GiB',
            'embeddings.ipynb, idle 2 h 11.2 GiB',
            'Not notebooks 3.5 GiB',
            'This notebook also holds 7.9 GiB on GPU 1.',
            'Click to free memory.'
          ]
        },
        {
          name: '3d unknown',
          reading: windows(),
          kernel: 'stable-features',
          text: '— GiB',
          tips: [
            'Size unknown',
            'Windows does not report GPU memory per process.',
            'GPU 0 as a whole: 14.2 of 24.0 GiB used.'
          ]
        }
      ]) {
        await test.step(name, async () => {
          readings.show(withKernel(reading, kernel, id));
          await expectTexts(badge(page), text.split(' '));
          await badge(page).hover();
          await expectTexts(tip(page), tips);
          await shoot(page.locator('#main'), `${name} ${theme}`);
          await expectAccessible(page, '.jp-Vram-BadgeItem');
          await page.mouse.move(0, 0);
          await expect(tip(page)).toBeHidden();
        });
      }
      await test.step('a click on an unknown size explains', async () => {
        await badge(page).click();
        await expect(page.getByRole('dialog')).toContainText(
          'Restarting or shutting down this kernel gives its GPU memory back all the same.'
        );
        await page.keyboard.press('Escape');
      });
      await test.step('7a status bar, 7b running list', async () => {
        readings.show(withKernel(panel(), 'notes', id));
        await expectTexts(status(page), [
          'GPU 0',
          '1.4 GiB free',
          'GPU 1',
          '10.0 GiB free'
        ]);
        readings.show(withKernel(fleet(), 'embeddings', id));
        await expectTexts(status(page), ['GPU 2', '4.8 GiB free']);
        await page.sidebar.openTab('jp-running-sessions');
        await expectTexts(page.locator('#jp-running-sessions'), ['44.0 GiB']);
        await shoot(page.locator('#main'), `7 ${theme}`);
        await expectAccessible(page, '.jp-Vram-Status', '.jp-Vram-Running');
        // A kernel that holds nothing says nothing of where to look.
        readings.show(fleet());
        await expectTexts(status(page), [
          '8 GPUs',
          '1 nearly full · most free: GPU 7, 29.3 GiB'
        ]);
        await expectAccessible(page, '.jp-Vram-Status');
      });
    });
  });
}
