/** A real JupyterLab on the simulated GPU, and a page of it in a real Chromium. */
/* global window */
import { spawn } from 'node:child_process';
import {
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { chromium } from '@playwright/test';
import { findChromium } from '../browser.mjs';
import { childEnvironment, python } from '../environment.mjs';

const START_LIMIT = 90_000;
export const NOTEBOOK = 'bench.ipynb';

/**
 * Call `use` with `{ page, folder }`: a page that shows a notebook of these cells, none of which
 * has run, and the server's folder. `prepare` gets the page before it loads anything.
 */
export async function withLab(cells, prepare, use) {
  const folder = mkdtempSync(join(tmpdir(), 'vram-bench-'));
  const token = randomBytes(16).toString('hex');
  const port = await freePort();
  writeNotebook(folder, cells);
  const server = startServer(folder, port, token);
  const browser = await chromium.launch({
    executablePath: await findChromium(),
    args: ['--no-sandbox', '--disable-gpu']
  });
  try {
    const address = `http://127.0.0.1:${port}`;
    await until(() => fetch(`${address}/api`).then(answer => answer.ok));
    const page = await browser.newPage({
      viewport: { width: 1400, height: 900 }
    });
    await prepare(page);
    await page.goto(`${address}/lab/tree/${NOTEBOOK}?token=${token}`);
    await page.waitForFunction(hasIdleKernel, null, { timeout: START_LIMIT });
    return await use({ page, folder: join(folder, 'work') });
  } catch (error) {
    console.error(readFileSync(join(folder, 'log'), 'utf8').slice(-4000));
    throw error;
  } finally {
    await browser.close();
    await end(server);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Run the notebook's next cell, without waiting for its end. */
export async function runNextCell(page) {
  await page.evaluate(() => {
    void window.jupyterapp.commands.execute(
      'notebook:run-cell-and-select-next'
    );
  });
}

/** Wait until `check` resolves to something true. */
export async function until(check, limit = START_LIMIT) {
  const deadline = Date.now() + limit;
  for (;;) {
    try {
      if (await check()) {
        return;
      }
    } catch (error) {
      if (Date.now() > deadline) {
        throw error;
      }
    }
    if (Date.now() > deadline) {
      throw new Error(`Nothing came of ${check} in ${limit / 1000} s.`);
    }
    await pause(200);
  }
}

/** Runs in the page. */
function hasIdleKernel() {
  const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
  return context?.isReady && context.session?.kernel?.status === 'idle';
}

function writeNotebook(folder, cells) {
  mkdirSync(join(folder, 'work'));
  const notebook = {
    cells: cells.map((source, number) => ({
      cell_type: 'code',
      execution_count: null,
      id: `cell-${number}`,
      metadata: {},
      outputs: [],
      source
    })),
    metadata: {
      kernelspec: { display_name: 'Python 3 (ipykernel)', name: 'python3' }
    },
    nbformat: 4,
    nbformat_minor: 5
  };
  writeFileSync(join(folder, 'work', NOTEBOOK), JSON.stringify(notebook));
}

function startServer(folder, port, token) {
  const log = createWriteStream(join(folder, 'log'));
  const server = spawn(
    python,
    [
      ...['-m', 'jupyterlab', '--no-browser', '--allow-root'],
      '--ServerApp.ip=127.0.0.1',
      `--ServerApp.port=${port}`,
      '--ServerApp.port_retries=0',
      `--ServerApp.root_dir=${join(folder, 'work')}`,
      `--IdentityProvider.token=${token}`,
      '--LabApp.expose_app_in_browser=True',
      '--VramApp.source=simulated'
    ],
    {
      cwd: folder,
      env: childEnvironment({
        JUPYTER_CONFIG_DIR: join(folder, 'config'),
        JUPYTER_DATA_DIR: join(folder, 'data'),
        JUPYTER_RUNTIME_DIR: join(folder, 'runtime'),
        IPYTHONDIR: join(folder, 'ipython'),
        VRAM_SIMULATED_LEDGER: join(folder, 'ledger')
      }),
      stdio: ['ignore', 'pipe', 'pipe']
    }
  );
  server.stdout.pipe(log);
  server.stderr.pipe(log);
  return server;
}

async function end(server) {
  const ended = new Promise(resolve => server.once('close', resolve));
  if (server.exitCode === null) {
    // Asked to end, it ends its kernels too.
    server.kill('SIGTERM');
    await ended;
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
