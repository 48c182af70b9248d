/** The main job, from an out-of-memory error to a running cell, in a real JupyterLab. */
import { expect, test } from '@jupyterlab/galata';
import type { IJupyterLabPageFixture } from '@jupyterlab/galata';
import type { Report, Snapshot } from '../../src/service/wire';
import {
  badge,
  openNotebook,
  openPanel,
  output,
  prompt,
  row,
  runCell,
  screenshot,
  shutDownAll,
  simulated
} from './lab';

// Galata's stand-ins for these lists leave a restarted kernel's page waiting for ever.
test.use({ kernels: null, sessions: null });

test.afterEach(async ({ page }) => {
  await shutDownAll(page);
});

const A = [simulated.import, simulated.take('x', 18), 'del x'];
// A short traceback leaves room for the rest in the pictures.
const B = [`%xmode Minimal\n${simulated.import}`, simulated.take('y', 8)];

/** What another client of the server is told, though this page restarts the kernel by itself. */
function finishedReport(page: IJupyterLabPageFixture): Promise<Report> {
  return page.evaluate(
    () =>
      new Promise<Report>((resolve, reject) => {
        const { wsUrl } = window.jupyterapp.serviceManager.serverSettings;
        const socket = new WebSocket(
          wsUrl.replace(/\/*$/, '/jupyterlab-vram/stream')
        );
        // Who comes later is told of earlier runs first.
        const began = Date.now() / 1000;
        socket.onclose = ({ code }) =>
          reject(new Error(`The stream ended: ${code}`));
        socket.onmessage = ({ data }) => {
          const message = JSON.parse(data as string) as Report | Snapshot;
          if (
            message.type === 'report' &&
            message.finished &&
            message.at > began
          ) {
            resolve(message);
            socket.close();
          }
        };
      })
  );
}

test('an idle notebook that caches 18 GiB gives them back in two clicks', async ({
  page,
  tmpPath
}) => {
  const panel = await openPanel(page);
  await openNotebook(page, tmpPath, 'first.ipynb', A);
  await runCell(page, 0);
  await runCell(page, 1);
  await expect(row(panel, 'first.ipynb')).toContainText(/18\.[0-9]\s*GiB/, {
    timeout: 2000
  });
  await runCell(page, 2);
  await openNotebook(page, tmpPath, 'second.ipynb', B);
  await runCell(page, 0);
  await runCell(page, 1);
  await expect(output(page, 1)).toContainText('out of memory');
  await expect(row(panel, 'second.ipynb')).toContainText(/0\.3\s*GiB/);
  await page.evaluate(() =>
    window.jupyterapp.commands.execute('application:toggle-left-area')
  );
  await row(panel, 'first.ipynb').hover();
  await page.screenshot({ path: screenshot('panel') });
  await row(panel, 'first.ipynb')
    .getByRole('button', { name: 'Free…' })
    .click();
  const plan = page.getByRole('dialog', { name: /Free GPU memory of first/ });
  await expect(
    plan.getByRole('checkbox', { name: /Release cached/ })
  ).toBeChecked();
  await page.screenshot({ path: screenshot('plan') });
  await plan.getByRole('button', { name: /^Free 18\.0/ }).click();
  const result = page.getByRole('dialog');
  await expect(result).toContainText(/Freed 18\.0\s*GiB/);
  await expect(result).toContainText('read from the driver');
  await page.screenshot({ path: screenshot('result') });
  await result.getByRole('button', { name: 'Done' }).click();

  await runCell(page, 1);
  await expect(output(page, 1)).not.toContainText('out of memory');
  await expect(badge(page)).toContainText(/8\.[0-9]/);
});

test('a notebook that keeps its variables gives them back by Restart', async ({
  page,
  tmpPath
}) => {
  const panel = await openPanel(page);
  await openNotebook(page, tmpPath, 'keeper.ipynb', A);
  await runCell(page, 0);
  await runCell(page, 1);
  await openNotebook(page, tmpPath, 'second.ipynb', B);
  await runCell(page, 0);
  await runCell(page, 1);
  await expect(output(page, 1)).toContainText('out of memory');

  await row(panel, 'keeper.ipynb').click({ button: 'right' });
  await page.getByRole('menuitem', { name: /Restart/ }).click();
  const confirm = page.getByRole('dialog', { name: /Restart Kernel/ });
  await expect(confirm).toContainText(/[Rr]eturns 18\.[0-9]\s*GiB/);
  const told = finishedReport(page);
  await confirm.getByRole('button', { name: 'Confirm Kernel Restart' }).click();
  await expect(
    page.getByText(/keeper.*restarted. Freed 18\.[0-9]\s*GiB/).first()
  ).toBeVisible({
    timeout: 20000
  });

  const { steps, freed } = await told;
  expect(steps.map(({ id, ok }) => [id, ok])).toEqual([['restart', true]]);
  expect(freed! / 2 ** 30).toBeCloseTo(18.3, 1);

  await runCell(page, 1);
  await expect(output(page, 1)).not.toContainText('out of memory');
  await page.notebook.activate('keeper.ipynb');
  await runCell(page, 0);
  await expect(prompt(page, 0)).toHaveText('[1]:');
});

test('a renamed notebook keeps its badge, and the panel its new name', async ({
  page,
  tmpPath
}) => {
  const panel = await openPanel(page);
  await openNotebook(page, tmpPath, 'before.ipynb', A);
  await runCell(page, 0);
  await runCell(page, 1);
  await expect(badge(page)).toContainText(/18\.[0-9]/);
  await page.contents.renameFile(
    `${tmpPath}/before.ipynb`,
    `${tmpPath}/after.ipynb`
  );
  await expect(row(panel, 'after.ipynb')).toContainText(/18\.[0-9]\s*GiB/);
  await expect(row(panel, 'before.ipynb')).toHaveCount(0);
  await expect(badge(page)).toContainText(/18\.[0-9]/);
});
