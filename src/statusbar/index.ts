import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator } from '@jupyterlab/translation';
import { languageOf } from '../language';
import { IVramModel } from '../tokens';
// The status bar takes a widget at once.
// eslint-disable-next-line jupyter/prefer-lazy-imports
import { VramStatus } from './widget';

/** Does nothing where there is no status bar (Notebook 7). */
const statusbar: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-vram:statusbar',
  description: 'Shows free GPU memory in the status bar.',
  autoStart: true,
  requires: [IVramModel],
  optional: [IStatusBar, INotebookTracker, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IVramModel,
    statusBar: IStatusBar | null,
    tracker: INotebookTracker | null,
    translator: ITranslator | null
  ) => {
    if (statusBar === null) {
      return;
    }
    const item = new VramStatus({
      model,
      commands: app.commands,
      tracker,
      ...languageOf(translator)
    });
    statusBar.registerStatusItem('jupyterlab-vram:statusbar', {
      item,
      align: 'left',
      rank: 600,
      isActive: () => item.isActive,
      activeStateChanged: item.activeStateChanged
    });
  }
};

export const plugins: JupyterFrontEndPlugin<unknown>[] = [statusbar];
