/**
 * Set the project up for development: its own .venv, the packages of both languages, the build.
 * Uses Node's and Python's own libraries only. What is up to date is left alone.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bin, python, root, venv, windows } from './environment.mjs';
import { Stop, answer, exitWith, step } from './run.mjs';

const STAMPS = join(venv, 'jupyterlab-vram-setup.json');
const BUILD_TOOLS = [
  'editables>=0.5',
  'hatchling>=1.27',
  'hatch-jupyter-builder>=0.5',
  'hatch-nodejs-version>=0.3.2',
  'jupyter-builder>=1.2.0,<2'
];
const BROWSER = ['src', 'style', 'schema'];
const NETWORK =
  'Is the package registry reachable from here? The step can be repeated: npm run setup';

/** Bring everything up to date; quick when it already is. */
export async function setup() {
  checkNode();
  let stamps = readStamps();
  if (!existsSync(python) || answer(python, ['-c', 'import pip']) === null) {
    const base = findPython();
    rmSync(venv, { recursive: true, force: true });
    stamps = {};
    await step('Python environment (.venv)', base[0], [
      ...base.slice(1),
      '-m',
      'venv',
      venv
    ]);
  }
  const wanted = {
    // package.json has the version, jupyter-config is installed with the Python package.
    python: digest(
      ['pyproject.toml', 'package.json', 'jupyter-config'],
      answer(python, ['-VV'])
    ),
    node: digest(['package.json', 'yarn.lock', '.yarnrc.yml']),
    build: digest(['package.json', 'yarn.lock', 'tsconfig.json', ...BROWSER])
  };
  const pip = ['-m', 'pip', 'install', '-q', '--disable-pip-version-check'];
  if (stamps.python !== wanted.python) {
    await step('Build tools', python, [...pip, ...BUILD_TOOLS], {
      advice: NETWORK
    });
  }
  if (stamps.node !== wanted.node || !existsSync(join(root, 'node_modules'))) {
    await step('JavaScript packages (1 to 3 min)', jlpm(), ['install'], {
      advice: NETWORK
    });
    save(stamps, { node: wanted.node });
  }
  const built = join(
    root,
    'python_probe/jupyterlab_vram/labextension/static/style.js'
  );
  if (stamps.build !== wanted.build || !existsSync(built)) {
    await step('Browser part', jlpm(), ['build:prod']);
    save(stamps, { build: wanted.build });
  }
  if (stamps.python !== wanted.python) {
    await step(
      'Server part',
      python,
      [...pip, '--no-build-isolation', '--no-deps', '-e', '.'],
      { env: { SKIP_JUPYTER_BUILDER: '1' } }
    );
    // By the name of what is installed now. Some of these are built here, by tools of their own.
    await step(
      'Python packages (1 to 3 min)',
      python,
      [...pip, 'jupyterlab-vram[dev,test,bench]'],
      { advice: NETWORK }
    );
    // Links the built browser part into the environment, so that a new build needs no install.
    await step('Link into JupyterLab', join(bin, 'jupyter-builder'), [
      'develop',
      '.',
      '--overwrite'
    ]);
    save(stamps, { python: wanted.python });
  }
}

function checkNode() {
  const [major] = process.versions.node.split('.').map(Number);
  if (major < 20) {
    throw new Stop(
      `Node.js ${process.versions.node} is too old: version 20 or newer is needed (https://nodejs.org).`
    );
  }
}

/** The command of a Python that can make a virtual environment. */
function findPython() {
  const names = [
    ...(process.env.PYTHON ? [[process.env.PYTHON]] : []),
    ['python3'],
    ...[14, 13, 12, 11, 10].map(minor => [`python3.${minor}`]),
    ['python'],
    ...(windows ? [['py', '-3']] : [])
  ];
  let seen = null;
  for (const [name, ...args] of names) {
    const found = spawnSync(
      name,
      [...args, '-c', 'import sys; print("%d.%d" % sys.version_info[:2])'],
      { encoding: 'utf8' }
    );
    if (found.status !== 0) {
      continue;
    }
    const [major, minor] = found.stdout.trim().split('.').map(Number);
    if (major !== 3 || minor < 10) {
      seen ??= `${name} is version ${found.stdout.trim()}, which is too old.`;
      continue;
    }
    const whole = spawnSync(name, [...args, '-c', 'import venv, ensurepip']);
    if (whole.status !== 0) {
      seen = `${name} (${major}.${minor}) has no venv or ensurepip. On Debian and Ubuntu: sudo apt-get install python3-venv`;
      continue;
    }
    return [name, ...args];
  }
  throw new Stop(
    `Python 3.10 or newer is needed, with its venv and ensurepip modules. ${
      seen ?? 'No Python 3 was found on PATH.'
    }`
  );
}

function jlpm() {
  return windows ? 'jlpm' : join(bin, 'jlpm');
}

/** A hash over files and folders (their names and contents) and one more fact. */
function digest(names, fact = '') {
  const hash = createHash('sha256').update(String(fact));
  const add = name => {
    const path = join(root, name);
    if (!existsSync(path)) {
      return;
    }
    if (statSync(path).isDirectory()) {
      readdirSync(path)
        .sort()
        .forEach(child => add(join(name, child)));
    } else {
      hash.update(name).update(readFileSync(path));
    }
  };
  names.forEach(add);
  return hash.digest('hex');
}

function readStamps() {
  try {
    return JSON.parse(readFileSync(STAMPS, 'utf8'));
  } catch {
    // None yet, or written half: everything is done again.
    return {};
  }
}

function save(stamps, change) {
  Object.assign(stamps, change);
  writeFileSync(STAMPS, JSON.stringify(stamps));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await setup();
    console.log(
      'Ready: "npm start" opens JupyterLab, "npm test" runs the tests.'
    );
  } catch (error) {
    exitWith(error);
  }
}
