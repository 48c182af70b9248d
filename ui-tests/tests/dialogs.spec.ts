/** Every dialog of the drawings, with their figures, in every theme. */
import { expect, test } from '@jupyterlab/galata';
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import { panel } from '../../src/__tests__/mockup';
import type { Plan } from '../../src/service/wire';
import { expectAccessible, THEMES, withTheme } from './accessible';
import { openPanel, row } from './lab';
import {
  busyPlan,
  childrenPlan,
  fullPlan,
  KERNEL,
  noAgentPlan,
  plan,
  poolPlan,
  report,
  step
} from './plans';
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
          'Already covered by the restart.',
          'You lose: every variable',
          'Restart and free 11.2 GiB'
        ]);
        await shoot(dialog, `2a plan with restart ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await close();
      });
      await test.step('2a everything that can be done', async () => {
        const dialog = await open(fullPlan());
        await expectTexts(dialog, [
          'GPU 0 · idle 2 h · holds 11.2 GiB · measured in the kernel',
          '11.2 GiB now',
          '7.4 GiB after',
          'Largest holders',
          'emb_matrix 3.3 GiB · last error 2.1 GiB · model 0.9 GiB',
          'Nothing is lost',
          'Park: move live tensors to host RAM',
          '6.9 GiB',
          'All 31 tensors can move. Host RAM free: 38.2 GiB. Restored when you run a cell, or with Restore.',
          'History is lost',
          'Drop the last error’s traceback',
          '2.1 GiB',
          'Clear Out[] history',
          '0.6 GiB',
          'Work is lost',
          'Delete variables',
          'up to 4.2 GiB',
          'Choose which. There is no undo.',
          'Choose…',
          'You lose every variable: 14 variables and 1 model.',
          'Free 3.8 GiB'
        ]);
        await dialog.getByRole('checkbox', { name: /^Park/ }).check();
        await expectTexts(dialog, [
          '0.5 GiB after',
          'Already covered by Park.',
          'Expected: 10.7 GiB of 11.2 GiB, nothing lost',
          'Free 10.7 GiB'
        ]);
        await shoot(dialog, `2a park ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
      });
      await test.step('2b chosen by hand', async () => {
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('checkbox', { name: /^Park/ }).uncheck();
        await dialog.getByRole('checkbox', { name: /^Drop/ }).check();
        await dialog.getByRole('checkbox', { name: /^Clear Out/ }).check();
        await dialog.getByRole('button', { name: 'Choose…' }).click();
        await dialog.getByRole('checkbox', { name: 'emb_matrix' }).check();
        await expectTexts(dialog, [
          '1.4 GiB after',
          'Park: move live tensors to host RAM',
          '0.9 GiB',
          'Every entry, not only those that hold GPU memory',
          'Delete variables',
          '3.3 GiB',
          'You lose emb_matrix. 1 of 2 chosen. There is no undo.',
          'emb_matrix',
          'Tensor float32 · 1,730,000 × 512',
          'model',
          'SentenceEncoder · 199 tensors',
          'You lose: history and emb_matrix',
          'Free 9.8 GiB'
        ]);
        await expect(
          dialog.getByRole('checkbox', { name: 'Delete variables' })
        ).toHaveJSProperty('indeterminate', true);
        await shoot(dialog, `2b chosen ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await dialog.getByText('Largest holders').click();
        await expectTexts(dialog, ['last error’s traceback', 'output history']);
        await shoot(dialog, `2b holders ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await close();
      });
      await test.step('children to end, and a restart elsewhere', async () => {
        const dialog = await open(childrenPlan());
        await dialog.getByRole('checkbox', { name: '48214' }).check();
        await expectTexts(dialog, [
          '1.0 GiB',
          'You lose what they are doing. 1 of 2 chosen.',
          'pt_data_worker',
          'You lose: 1 process'
        ]);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await dialog
          .getByRole('checkbox', { name: 'Restart the kernel' })
          .check();
        await dialog.getByLabel('Restart on').selectOption('the CPU only');
        await expectTexts(dialog, ['GPU 1 (10.0 GiB free)', 'Restart and']);
        await shoot(dialog, `restart elsewhere ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await close();
      });
      await test.step('2h a pool that stays', async () => {
        const dialog = await open(poolPlan());
        await expectTexts(dialog, [
          'TensorFlow keeps its memory pool until the process ends. Other notebooks get this memory back only when this kernel restarts.',
          'Clear the Keras session',
          '0.0 GiB',
          'Returns nothing to the GPU.',
          'Restart the kernel',
          '9.4 GiB',
          'Save first',
          'model.save("model.keras")',
          'So it grows as needed next time (first cell)',
          'set_memory_growth(gpu, True)'
        ]);
        await shoot(dialog, `2h pool ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await close();
      });
      await test.step('2c running', async () => {
        const steps = [
          step('unpin-exceptions', 2.1),
          step('unpin-outputs', null, { ok: null, seconds: null }),
          step('release-cache', null, { ok: null, seconds: null })
        ];
        const run = readings.holdReport();
        const dialog = await open(fullPlan());
        await dialog.getByRole('checkbox', { name: /^Drop/ }).check();
        await dialog.getByRole('checkbox', { name: /^Clear Out/ }).check();
        await dialog.getByRole('button', { name: 'Free 6.5 GiB' }).click();
        readings.report = report(steps, { run_id: 'live', finished: false });
        readings.send(readings.report);
        await expectTexts(dialog, [
          'Freeing memory of embeddings.ipynb',
          'step 2 of 3',
          'Drop the last error’s traceback',
          'freed 2.1 GiB',
          'Clear Out[] history',
          'working…',
          'Release cached blocks',
          'expected 3.8 GiB',
          'Stop after this step',
          'Close'
        ]);
        await shoot(dialog, `2c running ${theme}`);
        await expectAccessible(page, '.jp-Vram-FreeDialog');
        await dialog
          .getByRole('button', { name: 'Stop after this step' })
          .click();
        await expectTexts(dialog, ['Steps already done stay done.']);
        expect(readings.stopped).toEqual([KERNEL]);
        run.end(
          report(
            [
              steps[0],
              step('unpin-outputs', 0.6),
              step('release-cache', null, {
                ok: false,
                seconds: null,
                text: 'Not run. You stopped it.'
              })
            ],
            { run_id: 'live' }
          )
        );
        await expectTexts(dialog, [
          'Stopped before the last step',
          'Freed 2.7 GiB',
          'not run'
        ]);
        await shoot(dialog, `2c stopped ${theme}`);
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
