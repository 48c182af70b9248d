import type { JupyterFrontEndPlugin } from '@jupyterlab/application';

export const plugins: JupyterFrontEndPlugin<unknown>[] = [];
