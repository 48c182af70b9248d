/** Every dialog of the drawings, with their figures, in every theme. */
import { expect, test } from '@jupyterlab/galata';
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import { panel } from '../../src/__tests__/mockup';
import type { Plan } from '../../src/service/wire';
import { expectAccessible, THEMES, withTheme } from './accessible';
import { openPanel, row } from './lab';
import { busyPlan, noAgentPlan, plan, report, step } from './plans';
import { Readings } from './readings';
import { expectTexts, shoot } from './screens';

test.use({ autoGoto: false });

for (const theme of THEMES) {
  test.describe(theme, () => {
    test.use({ mockSettings: withTheme(theme) });

    test('each plan, result and question is readable', async ({ page }) => {
      const readings = await Readings.serve(page, panel());
      await page.goto();
      const side = await openPanel(page);
      const open = async (shown: Plan): Promise<Locator> => {
        readings.plan = shown;
        await row(side, 'embeddings.ipynb').focus();
        await page.keyboard.press('f');
        return page.getByRole('dialog');
      };
      const close = async (): Promise<void> => {
        await page.keyboard.press('Escape');
        await expect(page.getByRole('dialog')).toHaveCount(0);
      };

      await test.step('2a plan', async () => {
        const dialog = await open(plan());
        await expect(dialog).toHaveAccessibleName(
          'Free GPU memory of embeddings.ipynb'
        );
        await expectTexts(dialog, [
          'GPU 0 · idle 2 h · holds 11.2 GiB',
          '11.2 GiB now',
          '5.3 GiB after',
          'Nothing is lost',
          'Release cached blocks',
          '3.8 GiB',
          'Work is lost',
          'Restart the kernel',
          '11.2 GiB',
          'Expected: 5.9 GiB of 11.2 GiB, nothing lost',
          'Cancel',
          'Free 5.9 GiB'
        ]);
        await shoot(dialog, `2a plan ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
      });
      await test.step('2a plan that loses work', async () => {
        const dialog = page.getByRole('dialog');
        await dialog
          .getByRole('checkbox', { name: 'Restart the kernel' })
          .check();
        await expectTexts(dialog, [
          'Already covered by “Restart the kernel”.',
          'You lose: every variable',
          'Restart and free 11.2 GiB'
        ]);
        await shoot(dialog, `2a plan with restart ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await close();
      });
      await test.step('2d result', async () => {
        readings.report = report([
          step('collect', 2.1),
          step('release-cache', 3.8)
        ]);
        const dialog = await open(plan());
        await dialog.getByRole('button', { name: 'Free 5.9 GiB' }).click();
        await expectTexts(dialog, [
          'Done',
          'Freed 5.9 GiB',
          'of 11.2 GiB held by embeddings.ipynb',
          'GPU 0, read from the driver',
          '5.3 GiB remains'
        ]);
        await shoot(dialog, `2d result ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await close();
      });
      await test.step('2e less than expected', async () => {
        readings.report = report(
          [step('collect', 0), step('release-cache', 3.8)],
          { run_id: 'short' }
        );
        const dialog = await open(plan());
        await dialog.getByRole('button', { name: 'Free 5.9 GiB' }).click();
        await expectTexts(dialog, [
          'Less was freed than expected',
          'Freed 3.8 GiB, expected 5.9 GiB.',
          'Something still refers to 2.1 GiB',
          '7.4 GiB remains',
          'Copy details',
          'Close',
          'Restart and free 7.4 GiB…'
        ]);
        await shoot(dialog, `2e short ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await close();
      });
      await test.step('2g busy', async () => {
        const dialog = await open(busyPlan());
        await expectTexts(dialog, [
          'embeddings.ipynb is running',
          'Memory can’t be freed safely while a cell runs.',
          'Wait, and free when it becomes idle',
          'Interrupt the cell, then free',
          'Restart the kernel',
          '11.2 GiB',
          'You can close this; it stays scheduled.',
          'Free when idle'
        ]);
        await expect(dialog.getByRole('radio')).toHaveCount(4);
        await shoot(dialog, `2g busy ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await close();
      });
      await test.step('a kernel without a door', async () => {
        const dialog = await open(noAgentPlan());
        await expectTexts(dialog, [
          'Memory can’t be freed inside this kind of kernel.',
          'Restart the kernel',
          'Shut down the kernel',
          'Nothing is ticked'
        ]);
        await expect(dialog.getByRole('checkbox')).toHaveCount(2);
        await shoot(dialog, `no agent ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await close();
      });
      await test.step('a server that does not answer', async () => {
        readings.refuse(500);
        const dialog = await open(plan());
        await expect(dialog.getByRole('alert')).toBeVisible();
        await expect(
          dialog.getByRole('button', { name: 'Retry' })
        ).toBeEnabled();
        await shoot(dialog, `failed ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        readings.show(panel());
        await close();
        await expectTexts(side, ['live']);
      });
      await test.step('2f leftovers', async () => {
        await side
          .getByRole('button', { name: 'End processes of old-train.ipynb…' })
          .click();
        const dialog = page.getByRole('dialog', {
          name: 'End leftover processes?'
        });
        await expectTexts(dialog, [
          '2 processes of old-train.ipynb still hold 1.9 GiB on GPU 0. No notebook uses this memory.',
          '2001',
          '1.2 GiB',
          '2002',
          '0.7 GiB',
          'Each is asked to end first, and forced after 5 s.',
          'Cancel',
          'End 2 processes'
        ]);
        await shoot(dialog, `2f leftovers ${theme}`);
        await expectAccessible(page, '.jp-Vram-AskDialog');
        await close();
      });
      await test.step('restart', async () => {
        await choose(page, side, 'Restart Kernel…');
        const dialog = page.getByRole('dialog', { name: 'Restart Kernel?' });
        await expectTexts(dialog, [
          'All variables will be lost.',
          'Returns 11.2 GiB to GPU 0.'
        ]);
        await expectAccessible(page, '.jp-Vram-AskDialog');
        await close();
      });
      await test.step('thresholds', async () => {
        await side.getByRole('button', { name: 'GPU memory settings' }).click();
        await page.getByRole('menuitem', { name: 'Thresholds…' }).click();
        const dialog = page.getByRole('dialog');
        await expect(dialog.getByRole('spinbutton').first()).toBeVisible();
        await shoot(dialog, `thresholds ${theme}`);
        await expectAccessible(page, '.jp-Dialog-body');
        await close();
      });
    });
  });
}

async function choose(
  page: IJupyterLabPageFixture,
  side: Locator,
  item: string
): Promise<void> {
  await row(side, 'embeddings.ipynb').click({ button: 'right' });
  await page.getByRole('menuitem', { name: item }).click();
}
