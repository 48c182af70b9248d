/** Where things are: the project, its own Python environment and its tools. */
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(fileURLToPath(new URL('..', import.meta.url)));
export const windows = process.platform === 'win32';
export const venv = join(root, '.venv');
export const bin = join(venv, windows ? 'Scripts' : 'bin');
export const python = join(bin, windows ? 'python.exe' : 'python');

/** The environment that children run in: ours first on PATH, no user site-packages. */
export function childEnvironment(extra = {}) {
  const separator = windows ? ';' : ':';
  return {
    ...process.env,
    PATH: `${bin}${separator}${process.env.PATH ?? ''}`,
    VIRTUAL_ENV: venv,
    PYTHONNOUSERSITE: '1',
    ...extra
  };
}
