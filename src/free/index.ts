import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { languageOf } from '../language';
import { IVramModel } from '../tokens';
import type { FreeActions } from './actions';
// Commands have to be there from the start; what they do is loaded with the first use.
// eslint-disable-next-line jupyter/prefer-lazy-imports
import { addCommands } from './commands';

const free: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-vram:free',
  description: 'The dialogs and commands that give GPU memory back.',
  autoStart: true,
  requires: [IVramModel],
  optional: [ICommandPalette, INotebookTracker, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IVramModel,
    palette: ICommandPalette | null,
    tracker: INotebookTracker | null,
    translator: ITranslator | null
  ): void => {
    const language = languageOf(translator);
    const { trans } = language;
    let loaded: Promise<FreeActions> | null = null;
    const ids = addCommands({
      app,
      model,
      tracker,
      trans,
      actions: () => {
        loaded ??= import('./actions').then(
          ({ FreeActions }) =>
            new FreeActions(
              app,
              model,
              language,
              (translator ?? nullTranslator).load('jupyterlab')
            )
        );
        return loaded;
      }
    });
    const category = trans.__('GPU Memory');
    for (const command of ids) {
      palette?.addItem({ command, category });
    }
  }
};

export const plugins: JupyterFrontEndPlugin<unknown>[] = [free];
