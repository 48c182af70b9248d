import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ISessionContext } from '@jupyterlab/apputils';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { UUID } from '@lumino/coreutils';
import type { Widget } from '@lumino/widgets';
import type { Holder, Report, RunRequest, Survivor } from '../service/wire';
import { SCHEMA } from '../service/wire';
import { sumOfAll } from '../sums';
import type { IVramModel } from '../tokens';

const PATIENCE = 10000;

/** Milliseconds between two looks. */
const PAUSE = 500;

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
 * Runs remedies through the server, except a restart of a kernel that a document in this browser
 * has open.
 *
 * #### Notes
 * A restart that the server does by itself leaves an open notebook behind: its running cells stay
 * at `[*]` and its status at "starting" (seen with JupyterLab 4.6). Core's own restart tells the
 * document, so that one is used there; what came back is then read from the same driver readings.
 */
export class KernelRunner implements IKernelRunner {
  constructor(
    private _model: IVramModel,
    private _app: JupyterFrontEnd,
    private _trans: TranslationBundle,
    /** Milliseconds that the old processes' memory may take to go. */
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
    const [first, ...others] = request.remedies;
    if (first.id === 'restart' && others.length === 0 && context) {
      if (first.place) {
        // Only the server can choose the place, so it restarts first.
        const report = await this._model.run(kernelId, request);
        await context.restartKernel();
        return report;
      }
      const report = await this._restart(kernelId, context);
      // The server knows nothing of it.
      this._model.announce(report);
      return report;
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
    context: ISessionContext
  ): Promise<Report> {
    const model = this._model;
    await model.refresh();
    const startedAt = Date.now();
    const takenAt = model.snapshot?.taken_at ?? 0;
    const kernel = model.kernel(kernelId);
    const before = kernel?.bytes ?? null;
    const process = kernel?.pids[0];
    const old = holdersOf(model, kernelId);
    await context.restartKernel();
    // The server may answer with a reading that is half an interval old.
    const fresh =
      takenAt +
      (Date.now() - startedAt) / 1000 +
      (model.config?.interval ?? 1) / 2;
    const left = await this._whenGone(old, fresh);
    const now = model.kernel(kernelId);
    // `restartKernel` keeps its failure to the console: see by the process.
    const same =
      left !== null && process !== undefined && now?.pids[0] === process;
    const after = same
      ? (now?.bytes ?? null)
      : left && sumOfAll(left.map(({ bytes }) => bytes));
    const freed =
      same || before === null || after === null
        ? null
        : Math.max(0, before - after);
    return {
      type: 'report',
      version: model.snapshot?.version ?? '',
      schema: SCHEMA,
      kernel_id: kernelId,
      run_id: UUID.uuid4(),
      finished: true,
      waiting: false,
      at: model.snapshot?.taken_at ?? fresh,
      steps: [
        {
          id: 'restart',
          ok: !same,
          before,
          after,
          freed,
          freed_by: 'driver',
          frameworks_before: {},
          frameworks_after: {},
          seconds: (Date.now() - startedAt) / 1000,
          text: same
            ? this._trans.__(
                'The kernel still runs as the same process: it did not restart.'
              )
            : null
        }
      ],
      freed,
      expected: before,
      remains: { bytes: after, why: null },
      survivors: same || left === null ? [] : left.map(asSurvivor)
    };
  }

  /**
   * Poll until none of the processes holds memory; resolves with those that still do, or null if
   * no reading was taken since `fresh` (the server's clock).
   */
  private async _whenGone(
    processes: readonly Holder[],
    fresh: number
  ): Promise<Holder[] | null> {
    const deadline = Date.now() + this._patience;
    for (;;) {
      await this._model.refresh();
      const { snapshot } = this._model;
      const read = snapshot?.state === 'ok' && snapshot.taken_at >= fresh;
      const left = (snapshot?.holders ?? []).filter(holder =>
        processes.some(
          old =>
            old.gpu === holder.gpu &&
            old.pid === holder.pid &&
            old.started_at === holder.started_at
        )
      );
      if ((read && left.length === 0) || Date.now() >= deadline) {
        return read ? left : null;
      }
      await new Promise(resolve => setTimeout(resolve, PAUSE));
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

function holdersOf(model: IVramModel, kernelId: string): Holder[] {
  return (model.snapshot?.holders ?? []).filter(
    holder => holder.kernel_id === kernelId && holder.kind === 'kernel'
  );
}

function asSurvivor(holder: Holder): Survivor {
  const { pid, started_at, name, gpu, bytes } = holder;
  return { pid, started_at, name, gpu, bytes };
}
