import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IRunningSessionManagers } from '@jupyterlab/running';
import { ITranslator } from '@jupyterlab/translation';
import React from 'react';
import { languageOf } from '../language';
import { IVramModel } from '../tokens';
/* eslint-disable jupyter/prefer-lazy-imports -- rows are drawn at once */
import { RunningDetail } from './detail';
import { decorateKernels } from './rows';
/* eslint-enable jupyter/prefer-lazy-imports */

/** Does nothing where there is no running list. */
const running: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-vram:running',
  description: 'Shows GPU memory in the list of running kernels.',
  autoStart: true,
  requires: [IVramModel],
  optional: [IRunningSessionManagers, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IVramModel,
    managers: IRunningSessionManagers | null,
    translator: ITranslator | null
  ) => {
    if (managers === null) {
      return;
    }
    const language = languageOf(translator);
    decorateKernels(managers, kernelId => (
      <RunningDetail model={model} kernelId={kernelId} {...language} />
    ));
  }
};

export const plugins: JupyterFrontEndPlugin<unknown>[] = [running];
