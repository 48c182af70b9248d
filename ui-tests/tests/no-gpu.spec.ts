/** A computer without a GPU: what was tried, and the simulated GPU when asked for. */
import { expect, test } from '@jupyterlab/galata';
import { expectAccessible } from './accessible';
import { badge, openNotebook, openPanel, row, runCell, simulated } from './lab';

const url = process.env.VRAM_UI_NO_GPU_URL!;

test.use({ baseURL: url });

test.beforeEach(async ({ request }) => {
  const answer = await request.get(`${url}/jupyterlab-vram/snapshot`);
  const { state } = await answer.json();
  test.skip(state === 'ok', 'This computer has a GPU.');
});

test('nothing is found, and what was tried is listed', async ({ page }) => {
  const panel = await openPanel(page);
  await expect(panel).toContainText('no GPU');
  await expect(
    panel.getByRole('list', { name: 'What was tried' }).getByRole('listitem')
  ).not.toHaveCount(0);
  await expect(page.getByRole('button', { name: /^GPU memory\./ })).toHaveCount(
    0
  );
  const asked = page.waitForResponse(/jupyterlab-vram\/snapshot/);
  await panel.getByRole('button', { name: 'Look again' }).click();
  expect((await asked).ok()).toBe(true);
  await expect(panel).toContainText('no GPU');
  await expectAccessible(page, '#jp-vram-panel');
});

test('the simulated GPU comes when asked for, says so, and goes', async ({
  page,
  tmpPath
}) => {
  const panel = await openPanel(page);
  const simulate = panel.getByRole('button', {
    name: 'Try with a simulated GPU'
  });
  const question = page.getByRole('dialog').filter({
    hasText: 'Simulate a GPU?'
  });
  await simulate.click();
  await expect(question).toContainText('The whole server, for everybody');
  await question.getByRole('button', { name: 'Cancel' }).click();
  await expect(panel).toContainText('no GPU');

  await simulate.click();
  await question.getByRole('button', { name: 'Simulate' }).click();
  await expect(panel).toContainText('SIMULATED · no real GPU');
  try {
    await expect(panel).toContainText(/23\.6\s*GiB free/);
    await openNotebook(page, tmpPath, 'demo.ipynb', [
      simulated.import,
      simulated.take('x', 2)
    ]);
    await runCell(page, 0);
    await runCell(page, 1);
    await expect(row(panel, 'demo.ipynb')).toContainText(/2\.[0-9]\s*GiB/);
    await expect(badge(page)).toContainText('Simulated');
    await expect(
      page.getByRole('button', { name: /^GPU memory\./ })
    ).toContainText('Simulated');
  } finally {
    await panel.getByRole('button', { name: 'Turn off' }).click();
  }
  await expect(panel).toContainText('no GPU');
  await expect(panel).not.toContainText('SIMULATED');
  await expect(badge(page)).toBeHidden();
});
