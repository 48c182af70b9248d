import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Clipboard } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Report } from '../service/wire';
import { baseName } from '../names';
import { CommandIDs, type IVramModel } from '../tokens';
import { confirmRestart, confirmShutdown } from './confirm';
import { details } from './details';
import { FreeDialog } from './dialog';
import { endProcesses, leftovers, type IProcess } from './end';
import { failureText } from './failure';
import { KernelRunner, openWidget } from './runner';
import { FreeSession } from './session';
import { kernelTitle } from './subject';
import {
  checkingToast,
  failureToast,
  reportToast,
  showToast,
  type IToast
} from './toasts';

/**
 * What the commands do. Loaded when the first of them is used.
 *
 * #### Notes
 * Every method says what came of it, failures too, and resolves.
 */
export class FreeActions {
  constructor(
    private _app: JupyterFrontEnd,
    private _model: IVramModel,
    private _trans: TranslationBundle,
    /** JupyterLab's own strings. */
    private _core: TranslationBundle
  ) {
    this._runner = new KernelRunner(_model, _app, _trans);
  }

  /** Open the plan; resolves when the dialog is closed. */
  async free(kernelId: string): Promise<void> {
    const session = new FreeSession(
      this._model,
      kernelId,
      this._trans,
      this._runner
    );
    const { commands } = this._app;
    const dialog = new FreeDialog(session, {
      restart: () => void commands.execute(CommandIDs.restart, { kernelId }),
      end: processes =>
        void commands.execute(CommandIDs.end, {
          processes: processes.map(process => ({ ...process }))
        }),
      copyDetails: () => this.copyDetails(kernelId)
    });
    void session.load();
    await dialog.launch();
    if (session.phase.kind !== 'running') {
      session.dispose();
      return;
    }
    // Closed meanwhile: the run goes on, and its result still reaches the person.
    session.finished.connect((sender, outcome) => {
      showToast(
        typeof outcome === 'string'
          ? failureToast(outcome)
          : this._reportToast(sender.name, outcome.report)
      );
      sender.dispose();
    }, this);
  }

  async releaseCache(kernelId: string): Promise<void> {
    await this._say(kernelId, { id: 'release-cache' });
  }

  async interrupt(kernelId: string): Promise<void> {
    const { _trans: trans, _app: app } = this;
    await this._say(kernelId, { id: 'interrupt' }, undefined, report => {
      const [step] = report.steps;
      return step.ok
        ? null
        : {
            message:
              step.text ??
              trans.__('The kernel does not answer. Restart it to stop it.'),
            type: 'warning',
            autoClose: false,
            actions: [
              {
                label: trans.__('Restart…'),
                callback: () =>
                  void app.commands.execute(CommandIDs.restart, { kernelId })
              }
            ]
          };
    });
  }

  async restart(kernelId: string): Promise<void> {
    if (await confirmRestart(this._model, kernelId, this._trans, this._core)) {
      await this._end(kernelId, 'restart');
    }
  }

  async shutdown(kernelId: string): Promise<void> {
    if (await confirmShutdown(this._model, kernelId, this._trans, this._core)) {
      await this._end(kernelId, 'shutdown');
    }
  }

  /** End processes; without any named, all leftovers of the reading. */
  end(processes?: readonly IProcess[]): Promise<void> {
    return endProcesses(
      this._model,
      processes ?? leftovers(this._model),
      this._trans
    );
  }

  /** Bring the kernel's document to the front, or open it. */
  async openNotebook(kernelId: string): Promise<void> {
    const { shell, commands } = this._app;
    const open = openWidget(this._app, kernelId);
    if (open) {
      shell.activateById(open.id);
      return;
    }
    const path = this._model.kernel(kernelId)?.notebook;
    if (!path) {
      return;
    }
    try {
      await commands.execute('docmanager:open', { path });
    } catch (error) {
      showToast(
        failureToast(
          this._trans.__(
            '%1 could not be opened: %2',
            baseName(path),
            failureText(this._trans, error)
          )
        )
      );
    }
  }

  /** Of one kernel, or of the whole reading. */
  copyDetails(kernelId?: string): void {
    const { name, version } = this._app;
    Clipboard.copyToSystem(
      details(this._model, `${name} ${version}`, kernelId)
    );
    showToast({
      message: this._trans.__('Details copied to the clipboard.'),
      type: 'info',
      autoClose: 3000
    });
  }

  /** Run a restart or shutdown that was agreed to. */
  private async _end(
    kernelId: string,
    id: 'restart' | 'shutdown'
  ): Promise<void> {
    const name = kernelTitle(this._model, kernelId, this._trans);
    const checking = showToast(checkingToast(this._trans, name, id));
    await this._say(kernelId, { id }, checking);
  }

  /** Run one step and show what came of it; `toast` null shows nothing. */
  private async _say(
    kernelId: string,
    step: { id: 'release-cache' | 'interrupt' | 'restart' | 'shutdown' },
    shown?: string,
    toast?: (report: Report) => IToast | null
  ): Promise<void> {
    const name = kernelTitle(this._model, kernelId, this._trans);
    let result: IToast | null;
    try {
      const report = await this._runner.run(kernelId, { remedies: [step] });
      result = toast ? toast(report) : this._reportToast(name, report);
    } catch (error) {
      result = failureToast(failureText(this._trans, error));
    }
    if (result) {
      showToast(result, shown);
    }
  }

  private _reportToast(name: string, report: Report): IToast {
    return reportToast(this._trans, this._app.commands, name, report);
  }

  private _runner: KernelRunner;
}
