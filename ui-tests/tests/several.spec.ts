/** Several notebooks are freed with one plan, on real kernels. */
import { expect, test } from '@jupyterlab/galata';
import {
  kernelGrid,
  openNotebook,
  openPanel,
  row,
  runCell,
  shutDownAll,
  simulated,
  startCell
} from './lab';
import { expectAccessible } from './accessible';
import { shoot } from './screens';

// Galata's stand-ins for these lists leave a restarted kernel's page waiting for ever.
test.use({ kernels: null, sessions: null });

test.afterEach(async ({ page }) => {
  await shutDownAll(page);
});

/** Caches some memory, then can be kept busy. */
const cells = (gib: number) => [
  simulated.import,
  simulated.take('x', gib),
  'del x',
  'import time; time.sleep(300)'
];

test('what is selected is freed, kernel by kernel, and a busy one is told', async ({
  page,
  tmpPath
}) => {
  const panel = await openPanel(page);
  for (const [name, gib] of [
    ['one.ipynb', 6],
    ['two.ipynb', 4],
    ['three.ipynb', 3]
  ] as const) {
    await openNotebook(page, tmpPath, name, cells(gib));
    for (const cell of [0, 1, 2]) {
      await runCell(page, cell);
    }
  }
  await startCell(page, 3);
  await expect(row(panel, 'three.ipynb')).toContainText('busy');

  await row(panel, 'one.ipynb').focus();
  await page.keyboard.press(' ');
  for (const name of ['two.ipynb', 'three.ipynb']) {
    await row(panel, name).click({ modifiers: ['ControlOrMeta'] });
  }
  await expect(
    kernelGrid(panel).getByRole('row', { selected: true })
  ).toHaveCount(3);
  const selection = panel.getByRole('group', { name: 'Selected kernels' });
  await expect(selection).toContainText(/3 selected · 1[34]\.\d\s*GiB/);
  await expectAccessible(page, '#jp-vram-panel');
  await shoot(panel, 'several-selected');
  await selection.getByRole('button', { name: 'Free 3…' }).click();

  const dialog = page.getByRole('dialog', { name: /of 3 kernels/ });
  const box = (name: string) => dialog.getByRole('checkbox', { name });
  await expect(box('one.ipynb')).toBeChecked();
  await expect(box('two.ipynb')).toBeChecked();
  await expect(box('three.ipynb')).toBeDisabled();
  await expect(dialog).toContainText('while a cell runs');
  await expectAccessible(page, '.jp-Vram-FreeDialog');
  await shoot(dialog, 'several-plan');
  await dialog.getByRole('button', { name: /^Free 10\.0/ }).click();

  const result = page.getByRole('dialog', { name: 'Done' });
  await expect(result).toContainText(/Freed 10\.0\s*GiB/);
  await expect(result).toContainText(/one\.ipynb\s*freed 6\.0\s*GiB/);
  await expect(result).toContainText(/two\.ipynb\s*freed 4\.0\s*GiB/);
  await expectAccessible(page, '.jp-Vram-FreeDialog');
  await shoot(result, 'several-result');
  await result.getByRole('button', { name: 'Done' }).click();
  await expect(row(panel, 'one.ipynb')).not.toContainText(/6\.\d\s*GiB/);

  await selection.getByRole('button', { name: 'Clear' }).click();
  await expect(selection).toHaveCount(0);
});
