import { ILabShell, ILayoutRestorer } from '@jupyterlab/application';
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import {
  ICommandPalette,
  IThemeManager,
  showErrorMessage
} from '@jupyterlab/apputils';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator } from '@jupyterlab/translation';
import { vramIcon } from '../icons';
import { languageOf } from '../language';
import { IVramModel } from '../tokens';
// Commands have to be there before anybody can see the panel.
// eslint-disable-next-line jupyter/prefer-lazy-imports
import { addCommands, SET_DENSITY } from './commands';
import type { IPanelContext } from './context';
import { PANEL_ID, VramPanel } from './panel';
import type { Density } from './view';

/** Ranks from 501 to 899 are for extensions. */
const RANK = 600;

/** The side panel, the wide table and their commands. */
const panel: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-vram:panel',
  description: 'A side panel that shows which notebook holds the GPU’s memory.',
  autoStart: true,
  requires: [IVramModel],
  optional: [
    ITranslator,
    ILabShell,
    ILayoutRestorer,
    ICommandPalette,
    IThemeManager,
    ISettingRegistry
  ],
  activate: (
    app: JupyterFrontEnd,
    model: IVramModel,
    translator: ITranslator | null,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    themes: IThemeManager | null,
    registry: ISettingRegistry | null
  ) => {
    const language = languageOf(translator);
    const { trans } = language;
    const report = (work: Promise<unknown>): void => {
      work.catch((reason: unknown) =>
        showErrorMessage(
          trans.__('GPU memory'),
          reason instanceof Error ? reason : String(reason)
        )
      );
    };
    const context: IPanelContext = {
      model,
      ...language,
      commands: app.commands,
      themes,
      report,
      execute: (command, args) => report(app.commands.execute(command, args))
    };
    const widget = new VramPanel(context);
    widget.title.icon = vramIcon;
    widget.title.caption = trans.__('GPU memory');
    app.shell.add(widget, 'right', { rank: RANK, type: 'GPU memory' });
    restorer?.add(widget, PANEL_ID);

    let settings: ISettingRegistry.ISettings | null = null;
    addCommands({
      app,
      context,
      panel: widget,
      palette,
      settings: () => settings,
      hasMainArea: labShell !== null
    });
    const apply = (): void => {
      widget.density = settings?.composite.density as Density;
      app.commands.notifyCommandChanged(SET_DENSITY);
    };
    registry?.load(panel.id).then(
      loaded => {
        settings = loaded;
        settings.changed.connect(apply);
        apply();
      },
      // The panel works without its settings; they must not hide it.
      (reason: unknown) => {
        console.error(
          'The settings of the GPU memory panel can’t be read:',
          reason
        );
      }
    );
  }
};

export const plugins: JupyterFrontEndPlugin<unknown>[] = [panel];
