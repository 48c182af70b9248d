import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
// Views need the model as soon as they start.
/* eslint-disable jupyter/prefer-lazy-imports */
import { VramModel } from '../model/model';
import { IVramModel } from '../tokens';
import { VramClient } from './client';
import { SnapshotStream } from './stream';
/* eslint-enable jupyter/prefer-lazy-imports */

/** Provides the model. Asks the server nothing until a view watches it. */
const service: JupyterFrontEndPlugin<IVramModel> = {
  id: 'jupyterlab-vram:service',
  description: 'Provides which notebook kernel holds how much GPU memory.',
  autoStart: true,
  provides: IVramModel,
  activate: app => {
    const client = new VramClient(app.serviceManager.serverSettings);
    return new VramModel({ client, stream: new SnapshotStream(client) });
  }
};

export const plugins: JupyterFrontEndPlugin<unknown>[] = [service];
