import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, MainAreaWidget, showDialog } from '@jupyterlab/apputils';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import type { Widget } from '@lumino/widgets';
import { vramIcon } from '../icons';
import { CommandIDs } from '../tokens';
import type { IPanelContext } from './context';
import type { VramPanel } from './panel';

/** Set how dense the panel's lists are. Args: `{density}`. */
export const SET_DENSITY = 'vram:set-density';

/** A shell whose sides fold; both JupyterLab's and Notebook's do. */
interface IFoldingShell {
  collapseLeft(): void;
  collapseRight(): void;
}

export interface ICommandOptions {
  app: JupyterFrontEnd;
  context: IPanelContext;
  panel: VramPanel;
  palette: ICommandPalette | null;
  /** The panel's settings, null until they were read. */
  settings: () => ISettingRegistry.ISettings | null;
  /** The front end has tabs, so that a wide table has a place. */
  hasMainArea: boolean;
}

const NO_ARGS = { type: 'object', properties: {} } as const;

/** The command's place says that it is about GPU memory, so that its label need not. */
const IN_MENU = {
  type: 'object',
  properties: { menu: { type: 'boolean' } }
} as const;

/** Register the panel's commands. */
export function addCommands(options: ICommandOptions): void {
  const { app, context, panel, palette } = options;
  const { commands, shell } = app;
  const { model, trans } = context;

  commands.addCommand(CommandIDs.open, {
    label: trans.__('Show GPU Memory'),
    caption: trans.__('Show which notebook holds the GPU’s memory'),
    icon: vramIcon,
    isToggled: () => panel.isVisible,
    describedBy: {
      args: {
        type: 'object',
        properties: {
          kernelId: {
            type: 'string',
            description: trans.__('The kernel to scroll to')
          }
        }
      }
    },
    execute: async args => {
      const { kernelId } = args;
      if (typeof kernelId === 'string') {
        shell.activateById(panel.id);
        await panel.reveal(kernelId);
      } else if (panel.isVisible) {
        fold(shell, panel);
      } else {
        shell.activateById(panel.id);
      }
    }
  });

  let table: Widget | null = null;
  commands.addCommand(CommandIDs.openMain, {
    label: args =>
      args.menu
        ? trans.__('Open in Main Area')
        : trans.__('Open GPU Memory in Main Area'),
    icon: vramIcon,
    describedBy: { args: IN_MENU },
    isVisible: () => options.hasMainArea,
    isEnabled: () => options.hasMainArea,
    execute: async () => {
      if (table === null || table.isDisposed) {
        const { PanelBody } = await import('./body');
        table = new MainAreaWidget({ content: new PanelBody(context, 'wide') });
        table.id = 'jp-vram-table';
        table.title.label = trans.__('GPU memory');
        table.title.icon = vramIcon;
        table.title.closable = true;
        shell.add(table, 'main');
      }
      shell.activateById(table.id);
    }
  });

  commands.addCommand(CommandIDs.togglePause, {
    label: trans.__('Pause GPU Memory Updates'),
    describedBy: { args: NO_ARGS },
    isToggled: () => model.status === 'paused',
    execute: () => {
      if (model.status === 'paused') {
        model.resume();
      } else {
        model.pause();
      }
    }
  });

  commands.addCommand(CommandIDs.simulate, {
    label: () =>
      isSimulated(context)
        ? trans.__('Turn the Simulated GPU off')
        : trans.__('Try a Simulated GPU…'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          on: {
            type: 'boolean',
            description: trans.__('On or off; left out: the other one')
          }
        }
      }
    },
    execute: async args => {
      const on = typeof args.on === 'boolean' ? args.on : !isSimulated(context);
      if (on) {
        const { button } = await showDialog({
          title: trans.__('Simulate a GPU?'),
          body: trans.__(
            'The whole server, for everybody who uses it, shows an invented GPU instead of a real one until it is turned off. Kernels stay real: restart and shut down really do.'
          ),
          buttons: [
            Dialog.cancelButton(),
            Dialog.okButton({ label: trans.__('Simulate') })
          ]
        });
        if (!button.accept) {
          return;
        }
      }
      await model.configure({ source: on ? 'simulated' : 'auto' });
    }
  });

  commands.addCommand(CommandIDs.thresholds, {
    label: args =>
      args.menu ? trans.__('Thresholds…') : trans.__('GPU Memory Thresholds…'),
    describedBy: { args: IN_MENU },
    execute: async () => {
      const { editThresholds } = await import('./thresholds');
      await editThresholds(model, trans);
    }
  });

  addDensity(options);

  for (const command of [
    CommandIDs.open,
    CommandIDs.openMain,
    CommandIDs.togglePause,
    CommandIDs.simulate,
    CommandIDs.thresholds
  ]) {
    palette?.addItem({ command, category: trans.__('GPU Memory') });
  }
}

function addDensity({
  app,
  context,
  palette,
  settings
}: ICommandOptions): void {
  const { trans } = context;
  const words: { [density: string]: string } = {
    auto: trans.__('Automatic'),
    normal: trans.__('Normal'),
    compact: trans.__('Compact')
  };
  app.commands.addCommand(SET_DENSITY, {
    label: args =>
      args.palette
        ? trans.__('GPU Memory Lists: %1', words[String(args.density)])
        : (words[String(args.density)] ?? trans.__('Density')),
    describedBy: {
      args: {
        type: 'object',
        required: ['density'],
        properties: {
          density: { type: 'string', enum: Object.keys(words) }
        }
      }
    },
    isEnabled: () => settings() !== null,
    isToggled: ({ density }) => settings()?.composite.density === density,
    execute: async ({ density }) => {
      const loaded = settings();
      if (loaded === null) {
        throw new Error(
          trans.__('The panel’s settings have not been read; try again.')
        );
      }
      if (!Object.keys(words).includes(String(density))) {
        throw new Error(
          trans.__('A density is one of %1.', Object.keys(words).join(', '))
        );
      }
      await loaded.set('density', String(density));
    }
  });
  for (const density of Object.keys(words)) {
    palette?.addItem({
      command: SET_DENSITY,
      category: trans.__('GPU Memory'),
      args: { density, palette: true }
    });
  }
}

function isSimulated({ model }: IPanelContext): boolean {
  return model.snapshot?.source === 'simulated';
}

/** Fold the side that the panel is on. */
function fold(shell: JupyterFrontEnd.IShell, panel: Widget): void {
  const sides = shell as JupyterFrontEnd.IShell & Partial<IFoldingShell>;
  if ([...shell.widgets('left')].includes(panel)) {
    sides.collapseLeft?.();
  } else {
    sides.collapseRight?.();
  }
}
