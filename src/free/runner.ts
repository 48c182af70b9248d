import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ISessionContext } from '@jupyterlab/apputils';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { UUID } from '@lumino/coreutils';
import type { Widget } from '@lumino/widgets';
import type { Report, RunRequest } from '../service/wire';
import type { IVramModel } from '../tokens';

/** Milliseconds in which the server has surely noted what a kernel holds. */
const PATIENCE = 4000;

/** Runs remedies on a kernel; rejects with a sentence. */
export interface IKernelRunner {
  /**
   * @param again - After a restart, run the open notebook's cells up to its current one.
   */
  run(kernelId: string, request: RunRequest, again?: boolean): Promise<Report>;

  /** Whether the kernel's notebook is open here. */
  canRunAgain(kernelId: string): boolean;
}

/**
 * Runs remedies through the server, except that core restarts a kernel which a document in this
 * browser has open.
 *
 * #### Notes
 * A restart that the server does by itself leaves an open notebook behind: its running cells stay
 * at `[*]` and its status at "starting" (seen with JupyterLab 4.6). Core's own restart tells the
 * document; the server measures it as every other, so that all clients are told.
 */
export class KernelRunner implements IKernelRunner {
  constructor(
    private _model: IVramModel,
    private _app: JupyterFrontEnd,
    private _patience = PATIENCE
  ) {}

  canRunAgain(kernelId: string): boolean {
    return openWidget(this._app, kernelId) instanceof NotebookPanel;
  }

  async run(
    kernelId: string,
    request: RunRequest,
    again = false
  ): Promise<Report> {
    const widget = openWidget(this._app, kernelId);
    const report = await this._run(kernelId, request, contextOf(widget));
    if (
      again &&
      widget instanceof NotebookPanel &&
      report.steps.every(({ ok }) => ok)
    ) {
      const { content, sessionContext } = widget;
      // Goes on by itself, as when a person runs the cells.
      void NotebookActions.runCells(
        content,
        content.widgets.slice(0, content.activeCellIndex + 1),
        sessionContext
      );
    }
    return report;
  }

  private async _run(
    kernelId: string,
    request: RunRequest,
    context: ISessionContext | undefined
  ): Promise<Report> {
    if (context && request.remedies.some(({ id }) => id === 'restart')) {
      return this._restart(kernelId, request, context);
    }
    const report = await this._model.run(kernelId, request);
    if (request.remedies.some(step => step.id === 'shutdown')) {
      // Documents learn from the managers that their kernel is gone.
      const { kernels, sessions } = this._app.serviceManager;
      await Promise.all([kernels.refreshRunning(), sessions.refreshRunning()]);
    }
    return report;
  }

  private async _restart(
    kernelId: string,
    request: RunRequest,
    context: ISessionContext
  ): Promise<Report> {
    const model = this._model;
    const me = UUID.uuid4();
    let restarting: Promise<void> | null = null;
    const restart = (): void => {
      // Its failure goes to the console; the report tells that nothing was restarted.
      restarting ??= context.restartKernel();
    };
    const onReported = (_: IVramModel, { steps }: Report): void => {
      if (steps.some(({ by_page, ok }) => by_page === me && ok === null)) {
        restart();
      }
    };
    model.reported.connect(onReported);
    // Reports come only while somebody looks, and never to a page that is paused.
    const watch = model.watch();
    const unheard = setTimeout(restart, this._patience);
    try {
      const report = await model.run(kernelId, {
        ...request,
        remedies: request.remedies.map(step =>
          step.id === 'restart' ? { ...step, by_page: me } : step
        ) as RunRequest['remedies']
      });
      await restarting;
      return report;
    } finally {
      clearTimeout(unheard);
      watch.dispose();
      model.reported.disconnect(onReported);
    }
  }
}

/** A document of this browser that has the kernel open, else null. */
export function openWidget(
  app: JupyterFrontEnd,
  kernelId: string
): Widget | null {
  for (const widget of app.shell.widgets('main')) {
    if (contextOf(widget)?.session?.kernel?.id === kernelId) {
      return widget;
    }
  }
  return null;
}

/** Notebooks and consoles have one; asked for without importing either. */
function contextOf(widget: Widget | null): ISessionContext | undefined {
  return (widget as { sessionContext?: ISessionContext } | null)
    ?.sessionContext;
}
