/**
 * Set up, then open the main job: JupyterLab with the panel and two example notebooks; on the
 * real GPU where there is an NVIDIA driver, else on the simulated one. Arguments are passed on
 * to `jupyter lab`.
 */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { bin, python, root } from './environment.mjs';
import { answer, exitWith, passThrough, step } from './run.mjs';
import { setup } from './setup.mjs';

const demo = join(root, '.demo');
const made = join(demo, '.workspaces-made');
const workspaces = join(demo, '.workspaces');
const WORKSPACE = 'gpu-memory';

/** Copies of the examples, so that running them changes nothing that git tracks. */
function copyExamples() {
  mkdirSync(demo, { recursive: true });
  const notebooks = readdirSync(join(root, 'examples'))
    .filter(name => name.endsWith('.ipynb'))
    .sort();
  for (const name of notebooks) {
    if (!existsSync(join(demo, name))) {
      copyFileSync(join(root, 'examples', name), join(demo, name));
    }
  }
  return notebooks;
}

/**
 * A workspace that shows the notebooks, with the panel open at the right: anew at each start, in
 * the demo's own folder. JupyterLab itself makes it, once, since that takes it some seconds.
 */
async function openPanelBeside(notebooks) {
  const tabs = notebooks.map(name => `notebook:${name}`);
  const data = {
    'layout-restorer:data': {
      main: {
        dock: { type: 'tab-area', currentIndex: 0, widgets: tabs },
        current: tabs[0]
      },
      left: { collapsed: false, visible: true, current: 'filebrowser' },
      right: { collapsed: false, visible: true, current: 'jp-vram-panel' },
      relativeSizes: [0.18, 0.55, 0.27]
    }
  };
  for (const name of notebooks) {
    data[`notebook:${name}`] = { data: { path: name, factory: 'Notebook' } };
  }
  const text = JSON.stringify({ data, metadata: { id: WORKSPACE } });
  const source = join(made, 'source.json');
  if (!existsSync(source) || readFileSync(source, 'utf8') !== text) {
    const file = join(demo, '.workspace.json');
    writeFileSync(file, text);
    rmSync(made, { recursive: true, force: true });
    await step(
      'Workspace',
      join(bin, 'jupyter'),
      ['lab', 'workspaces', 'import', file],
      { env: { JUPYTERLAB_WORKSPACES_DIR: made } }
    );
    renameSync(file, source);
  }
  cpSync(made, workspaces, { recursive: true });
}

/** The state of this computer's NVIDIA driver, in the wire's words. */
function driverState() {
  const code =
    "from jupyterlab_vram.probe import make_probe; print(make_probe('auto').read().state)";
  return answer(python, ['-c', code]);
}

try {
  console.log('Setting up');
  await setup();
  await openPanelBeside(copyExamples());
  const state = driverState();
  const simulated = state !== 'ok';
  console.log(
    simulated
      ? `\nNo NVIDIA GPU can be read here (${state}): opening with a SIMULATED GPU.\nIts numbers are invented; the kernels are real.\n`
      : '\nOpening with the GPU of this computer.\n'
  );
  process.exitCode = await passThrough(join(bin, 'jupyter'), [
    'lab',
    `--ServerApp.root_dir=${demo}`,
    `--LabApp.workspaces_dir=${workspaces}`,
    `--LabApp.default_url=/lab/workspaces/${WORKSPACE}`,
    ...(simulated ? ['--VramApp.source=simulated'] : []),
    ...(process.getuid?.() === 0 ? ['--allow-root'] : []),
    ...process.argv.slice(2)
  ]);
} catch (error) {
  exitWith(error);
}
