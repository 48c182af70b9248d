import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { IToolbarWidgetRegistry } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { ITranslator } from '@jupyterlab/translation';
import { languageOf } from '../language';
import { IVramModel } from '../tokens';
// A toolbar factory can't wait for an import.
// eslint-disable-next-line jupyter/prefer-lazy-imports
import { VramBadge } from './widget';

/** Where the badge sits in the toolbar is in schema/badge.json, and so in people's settings. */
const badge: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-vram:badge',
  description: "Shows a notebook's GPU memory in its toolbar.",
  autoStart: true,
  requires: [IVramModel, IToolbarWidgetRegistry],
  optional: [ITranslator],
  activate: (
    app: JupyterFrontEnd,
    model: IVramModel,
    toolbars: IToolbarWidgetRegistry,
    translator: ITranslator | null
  ) => {
    const language = languageOf(translator);
    toolbars.addFactory<NotebookPanel>(
      'Notebook',
      'vramBadge',
      panel =>
        new VramBadge({
          model,
          sessionContext: panel.sessionContext,
          commands: app.commands,
          ...language
        })
    );
  }
};

export const plugins: JupyterFrontEndPlugin<unknown>[] = [badge];
