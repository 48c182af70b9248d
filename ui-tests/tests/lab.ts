/** What the UI tests share: notebooks with real kernels, and the panel by its roles. */
import { type IJupyterLabPageFixture, expect, test } from '@jupyterlab/galata';
import type { Locator } from '@playwright/test';
import * as path from 'node:path';

/** A notebook's first cells; each is run by itself. */
export type Cells = string[];

/** Takes and keeps memory of the simulated GPU. */
export const simulated = {
  import: 'from jupyterlab_vram import simulated as gpu',
  take: (name: string, gib: number) =>
    `${name} = gpu.empty(${gib} * 2**30, dtype="uint8")`
};

/** Write a notebook into the test's folder. */
export async function writeNotebook(
  page: IJupyterLabPageFixture,
  tmpPath: string,
  name: string,
  cells: Cells,
  kernel = 'python3'
): Promise<void> {
  const notebook = {
    cells: cells.map((source, i) => ({
      cell_type: 'code',
      execution_count: null,
      id: `cell-${i}`,
      metadata: {},
      outputs: [],
      source
    })),
    metadata: { kernelspec: { display_name: kernel, name: kernel } },
    nbformat: 4,
    nbformat_minor: 5
  };
  await page.contents.uploadContent(
    JSON.stringify(notebook),
    'text',
    `${tmpPath}/${name}`
  );
}

/** Write a notebook into the test's folder and open it. */
export async function openNotebook(
  page: IJupyterLabPageFixture,
  tmpPath: string,
  name: string,
  cells: Cells,
  kernel = 'python3'
): Promise<void> {
  await writeNotebook(page, tmpPath, name, cells, kernel);
  await page.notebook.openByPath(`${tmpPath}/${name}`);
  await page.notebook.activate(name);
}

/** Run one cell of the active notebook and wait until it has run. */
export async function runCell(
  page: IJupyterLabPageFixture,
  index: number
): Promise<void> {
  expect(await page.notebook.runCell(index, { wait: true })).toBe(true);
}

/** Run one cell of the active notebook and do not wait: it runs on. */
export async function startCell(
  page: IJupyterLabPageFixture,
  index: number
): Promise<void> {
  await page.notebook.selectCells(index);
  await page.keyboard.press('Control+Enter');
  await expect(prompt(page, index)).toHaveText('[*]:');
}

/** What a cell of the active notebook printed, errors included. */
export function output(page: IJupyterLabPageFixture, index: number): Locator {
  return cell(page, index).locator('.jp-OutputArea');
}

/** The `[1]:` beside a cell of the active notebook. */
export function prompt(page: IJupyterLabPageFixture, index: number): Locator {
  return cell(page, index).locator('.jp-InputPrompt');
}

function cell(page: IJupyterLabPageFixture, index: number): Locator {
  return page
    .locator('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell')
    .nth(index);
}

/** The badge in the active notebook's toolbar. */
export function badge(page: IJupyterLabPageFixture): Locator {
  return page
    .locator('.jp-NotebookPanel:not(.lm-mod-hidden)')
    .locator('button.jp-Vram-Badge');
}

/** The panel, opened by its command as a person would from the palette. */
export async function openPanel(
  page: IJupyterLabPageFixture
): Promise<Locator> {
  const panel = page.locator('#jp-vram-panel');
  if (!(await panel.isVisible())) {
    await page.getByRole('tab', { name: 'GPU memory' }).click();
  }
  await expect(panel).toBeVisible();
  return panel;
}

/** A kernel's row in the panel. */
export function row(panel: Locator, name: string): Locator {
  return panel.getByRole('row', { name: new RegExp(`^${name},`) });
}

/** The list of kernels that hold memory. */
export function kernelGrid(panel: Locator): Locator {
  return panel.getByRole('treegrid', { name: 'Kernels that hold GPU memory' });
}

/** End every kernel of the test server; for tests that do without Galata's own bookkeeping. */
export async function shutDownAll(page: IJupyterLabPageFixture): Promise<void> {
  const kernels = await page.request.get('/api/kernels');
  for (const { id } of await kernels.json()) {
    await page.request.delete(`/api/kernels/${id}`);
  }
}

/** The plan of a kernel, opened from its row by the keyboard. */
export async function openPlan(
  page: IJupyterLabPageFixture,
  panel: Locator,
  name: string
): Promise<Locator> {
  await row(panel, name).focus();
  await page.keyboard.press('f');
  const dialog = page.getByRole('dialog');
  await expect(
    dialog.getByRole('checkbox').or(dialog.getByRole('radio')).first()
  ).toBeVisible();
  return dialog;
}

/** The id of the kernel of a notebook of this server. */
export async function kernelOf(
  page: IJupyterLabPageFixture,
  path: string
): Promise<string> {
  const sessions = await page.request.get('/api/sessions');
  const own = (await sessions.json()).find(
    (session: { path: string }) => session.path === path
  );
  return own.kernel.id;
}

/** Where a test's picture goes; those of the README and the guide are kept in VRAM_SCREENSHOTS. */
export function screenshot(name: string): string {
  const folder = process.env.VRAM_SCREENSHOTS ?? test.info().outputDir;
  return path.join(folder, `${name}.png`);
}
