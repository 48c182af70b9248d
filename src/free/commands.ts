import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type {
  ReadonlyJSONObject,
  ReadonlyPartialJSONObject
} from '@lumino/coreutils';
import type { Report } from '../service/wire';
import { CommandIDs, type IVramModel } from '../tokens';
import type { FreeActions } from './actions';
import type { IProcess } from './end';
import { kernelTitle } from './subject';

type Args = ReadonlyPartialJSONObject;

export interface ICommandsOptions {
  app: JupyterFrontEnd;
  model: IVramModel;
  /** For the current notebook's kernel; null where there are no notebooks. */
  tracker: INotebookTracker | null;
  trans: TranslationBundle;
  /** Loads what the commands do; the same object every time. */
  actions: () => Promise<FreeActions>;
}

/** Add the commands; returns the ids of those that make sense in the palette. */
export function addCommands(options: ICommandsOptions): string[] {
  const { app, model, tracker, trans, actions } = options;
  const { commands } = app;

  const kernelOf = (args: Args): string | null => {
    if (typeof args.kernelId === 'string') {
      return args.kernelId;
    }
    const context = tracker?.currentWidget?.sessionContext;
    return context?.session?.kernel?.id ?? null;
  };

  /** The name of a kernel that was named by the caller and isn't clear from where it is shown. */
  const namedIn = (args: Args): string | null =>
    typeof args.kernelId === 'string' && !args.menu
      ? kernelTitle(model, args.kernelId, trans)
      : null;

  /** Why nothing can be done with the kernel, else null. */
  const whyNoKernel = (args: Args): string | null =>
    kernelOf(args) === null
      ? tracker?.currentWidget
        ? trans.__('This notebook has no kernel.')
        : trans.__(
            'Open a notebook, or choose a kernel in the GPU memory panel.'
          )
      : whyNoServer();

  const whyNoServer = (): string | null => {
    switch (model.status) {
      case 'stale':
        return trans.__('The server does not answer.');
      case 'missing':
        return trans.__('The server part of jupyterlab-vram is missing.');
      case 'forbidden':
        return trans.__('You may not see GPU memory on this server.');
      case 'reload':
        return trans.__('The server was upgraded: reload the page.');
      default:
        return null;
    }
  };

  const whyNoInterrupt = (args: Args): string | null =>
    whyNoKernel(args) ??
    (model.kernel(kernelOf(args)!)?.state === 'idle'
      ? trans.__('No cell is running.')
      : null);

  const whyNoRelease = (args: Args): string | null =>
    whyNoKernel(args) ??
    (model.kernel(kernelOf(args)!)?.state === 'busy'
      ? trans.__('A cell is running. “Free GPU Memory…” can wait for its end.')
      : null);

  const runOf = (args: Args): Report | null => {
    const kernelId = kernelOf(args);
    return kernelId === null ? null : model.running(kernelId);
  };

  const isParked = (args: Args): boolean => {
    const kernelId = kernelOf(args);
    return kernelId !== null && !!model.kernel(kernelId)?.parked;
  };

  const whyNoPark = (args: Args): string | null =>
    whyNoRelease(args) ??
    (isParked(args) ? trans.__('It is parked already.') : null);

  const whyNoRestore = (args: Args): string | null =>
    whyNoKernel(args) ??
    (isParked(args) ? null : trans.__('Nothing of this kernel is parked.'));

  const whyNoCancel = (args: Args): string | null =>
    whyNoKernel(args) ??
    (runOf(args) === null
      ? trans.__('Nothing waits for this kernel or runs on it.')
      : null);

  const whyNoEnd = (args: Args): string | null =>
    whyNoServer() ??
    (processesIn(args) === undefined &&
    !model.snapshot?.holders.some(holder => holder.kind === 'leftover')
      ? trans.__('No leftover process holds GPU memory.')
      : null);

  const whyNoNotebook = (args: Args): string | null => {
    const kernelId = kernelOf(args);
    if (kernelId === null) {
      return whyNoKernel(args);
    }
    return model.kernel(kernelId)?.notebook
      ? null
      : trans.__('This kernel has no notebook.');
  };

  /** A command on one kernel, the current notebook's by default. */
  const addKernelCommand = (
    id: string,
    command: {
      label: (args: Args) => string;
      /** The label where it isn't clear which kernel is meant. */
      labelOf: (name: string, args: Args) => string;
      caption: string;
      /** Why it can't be used, else null. */
      whyNot: (args: Args) => string | null;
      /** Whether it stands in a kernel's own menu; always, unless given. */
      inMenu?: (args: Args) => boolean;
      run: (does: FreeActions, kernelId: string) => Promise<void>;
    }
  ): void => {
    const { label, labelOf, caption, whyNot, inMenu, run } = command;
    commands.addCommand(id, {
      label: args => {
        const name = namedIn(args);
        return name === null ? label(args) : labelOf(name, args);
      },
      caption: args => whyNot(args) ?? caption,
      isEnabled: args => whyNot(args) === null,
      isVisible: args => !args.menu || !inMenu || inMenu(args),
      describedBy: { args: kernelArgs(trans) },
      execute: async args => run(await actions(), kernelOf(args)!)
    });
  };

  addKernelCommand(CommandIDs.free, {
    label: () => trans.__('Free GPU Memory…'),
    labelOf: name => trans.__('Free GPU Memory of %1…', name),
    caption: trans.__(
      'Show what can be freed, and what is lost by it. Changes nothing yet.'
    ),
    whyNot: whyNoKernel,
    run: (does, kernelId) => does.free(kernelId)
  });

  commands.addCommand(CommandIDs.freeSeveral, {
    label: args =>
      trans._n(
        'Free GPU Memory of %1 Kernel…',
        'Free GPU Memory of %1 Kernels…',
        kernelsIn(args).length
      ),
    caption: () =>
      whyNoServer() ??
      trans.__(
        'Show what each can give back without loss. Changes nothing yet.'
      ),
    isEnabled: args => whyNoServer() === null && kernelsIn(args).length > 0,
    describedBy: {
      args: {
        type: 'object',
        properties: {
          kernelIds: {
            type: 'array',
            description: trans.__('The ids of the kernels'),
            items: { type: 'string' },
            minItems: 1
          }
        },
        required: ['kernelIds']
      }
    },
    execute: async args => (await actions()).freeSeveral(kernelsIn(args))
  });

  addKernelCommand(CommandIDs.releaseCache, {
    label: () => trans.__('Release Cached GPU Memory'),
    labelOf: name => trans.__('Release Cached GPU Memory of %1', name),
    caption: trans.__(
      'Give back blocks that the framework keeps to reuse them. Nothing is lost.'
    ),
    whyNot: whyNoRelease,
    run: (does, kernelId) => does.releaseCache(kernelId)
  });

  addKernelCommand(CommandIDs.park, {
    label: () => trans.__('Park GPU Memory in Host RAM'),
    labelOf: name => trans.__('Park GPU Memory of %1 in Host RAM', name),
    caption: trans.__(
      'Move what variables hold to host RAM. Nothing is lost; the next cell brings it back.'
    ),
    whyNot: whyNoPark,
    inMenu: args => !isParked(args),
    run: (does, kernelId) => does.park(kernelId)
  });

  addKernelCommand(CommandIDs.restore, {
    label: () => trans.__('Restore Parked GPU Memory'),
    labelOf: name => trans.__('Restore Parked GPU Memory of %1', name),
    caption: trans.__('Move what was parked in host RAM back to the GPU.'),
    whyNot: whyNoRestore,
    inMenu: isParked,
    run: (does, kernelId) => does.restore(kernelId)
  });

  addKernelCommand(CommandIDs.cancel, {
    label: args =>
      runOf(args)?.waiting
        ? trans.__('Don’t Free GPU Memory When Idle')
        : trans.__('Stop Freeing GPU Memory'),
    labelOf: (name, args) =>
      runOf(args)?.waiting
        ? trans.__('Don’t Free GPU Memory of %1 When Idle', name)
        : trans.__('Stop Freeing GPU Memory of %1', name),
    caption: trans.__(
      'Leave out the steps that have not begun. What is done stays done.'
    ),
    whyNot: whyNoCancel,
    inMenu: args => runOf(args) !== null,
    run: (does, kernelId) => does.cancel(kernelId)
  });

  addKernelCommand(CommandIDs.interrupt, {
    label: () => trans.__('Interrupt Kernel'),
    labelOf: name => trans.__('Interrupt Kernel of %1', name),
    caption: trans.__('Stop the running cell. Variables stay.'),
    whyNot: whyNoInterrupt,
    run: (does, kernelId) => does.interrupt(kernelId)
  });

  addKernelCommand(CommandIDs.restart, {
    label: () => trans.__('Restart Kernel…'),
    labelOf: name => trans.__('Restart Kernel of %1…', name),
    caption: trans.__('Ask, restart, then check that the GPU memory is back.'),
    whyNot: whyNoKernel,
    run: (does, kernelId) => does.restart(kernelId)
  });

  addKernelCommand(CommandIDs.shutdown, {
    label: () => trans.__('Shut Down Kernel…'),
    labelOf: name => trans.__('Shut Down Kernel of %1…', name),
    caption: trans.__(
      'Ask, shut down, then check that the GPU memory is back.'
    ),
    whyNot: whyNoKernel,
    run: (does, kernelId) => does.shutdown(kernelId)
  });

  commands.addCommand(CommandIDs.end, {
    label: trans.__('End Leftover Processes…'),
    caption: args =>
      whyNoEnd(args) ??
      trans.__('Ask, then end processes whose kernel is gone.'),
    isEnabled: args => whyNoEnd(args) === null,
    describedBy: { args: processesArgs(trans) },
    execute: async args => (await actions()).end(processesIn(args))
  });

  addKernelCommand(CommandIDs.openNotebook, {
    label: () => trans.__('Open Notebook'),
    labelOf: name => trans.__('Open %1', name),
    caption: trans.__('Open the notebook of this kernel.'),
    whyNot: whyNoNotebook,
    run: (does, kernelId) => does.openNotebook(kernelId)
  });

  commands.addCommand(CommandIDs.copyDetails, {
    label: trans.__('Copy GPU Memory Details'),
    caption: trans.__(
      'Copy what was read from the driver and the kernel, for a question or a bug report.'
    ),
    describedBy: { args: kernelArgs(trans) },
    execute: async args =>
      (await actions()).copyDetails(
        typeof args.kernelId === 'string' ? args.kernelId : undefined
      )
  });

  return [
    CommandIDs.free,
    CommandIDs.releaseCache,
    CommandIDs.park,
    CommandIDs.restore,
    CommandIDs.cancel,
    CommandIDs.interrupt,
    CommandIDs.restart,
    CommandIDs.shutdown,
    CommandIDs.end,
    CommandIDs.copyDetails
  ];
}

/** The kernels that the caller named, each once. */
function kernelsIn({ kernelIds }: Args): string[] {
  return Array.isArray(kernelIds)
    ? [...new Set(kernelIds)].filter(id => typeof id === 'string')
    : [];
}

/** The processes that the caller named; undefined where it named none. */
function processesIn(args: Args): IProcess[] | undefined {
  const { processes } = args;
  if (!Array.isArray(processes)) {
    return undefined;
  }
  const named = (processes as unknown[]).filter(
    (process): process is IProcess =>
      typeof (process as IProcess | null)?.pid === 'number' &&
      typeof (process as IProcess).startedAt === 'number'
  );
  return named.length > 0 ? named : undefined;
}

function kernelArgs(trans: TranslationBundle): ReadonlyJSONObject {
  return {
    type: 'object',
    properties: {
      kernelId: {
        type: 'string',
        description: trans.__(
          'The id of the kernel; by default the current notebook’s'
        )
      },
      menu: {
        type: 'boolean',
        description: trans.__(
          'Whether the label leaves out the kernel’s name, as in its own menu'
        )
      }
    }
  };
}

function processesArgs(trans: TranslationBundle): ReadonlyJSONObject {
  return {
    type: 'object',
    properties: {
      processes: {
        type: 'array',
        description: trans.__(
          'The processes to end; by default all leftovers of this user'
        ),
        items: {
          type: 'object',
          properties: {
            pid: { type: 'integer' },
            startedAt: {
              type: 'number',
              description: trans.__('Seconds since the epoch, from the reading')
            }
          },
          required: ['pid', 'startedAt']
        }
      }
    }
  };
}
