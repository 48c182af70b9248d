import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Clipboard } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ILanguage } from '../language';
import { baseName } from '../names';
import type { Report } from '../service/wire';
import { CommandIDs, type IVramModel } from '../tokens';
import { FreeBatch } from './batch';
import { batchDialog } from './batchdialog';
import { confirmEnd } from './confirm';
import { details } from './details';
import { freeDialog } from './dialog';
import { endProcesses, leftovers, type IProcess } from './end';
import { failureText } from './failure';
import { parkToast, restoreToast, type IParkSubject } from './parktoasts';
import { KernelRunner, openWidget } from './runner';
import { FreeSession } from './session';
import { kernelTitle } from './subject';
import {
  batchToast,
  checkingToast,
  failureToast,
  reportToast,
  showToast,
  type IToast
} from './toasts';

// With the dialogs, not with JupyterLab.
import '../../style/free.css';

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
    private _language: ILanguage,
    /** JupyterLab's own strings. */
    private _core: TranslationBundle
  ) {
    this._trans = _language.trans;
    this._runner = new KernelRunner(_model, _app);
  }

  /** Open the plan; resolves when the dialog is closed. */
  async free(kernelId: string): Promise<void> {
    const session = this._session(kernelId);
    const { commands } = this._app;
    void session.load();
    await freeDialog(session, {
      restart: () => void commands.execute(CommandIDs.restart, { kernelId }),
      restore: () => void commands.execute(CommandIDs.restore, { kernelId }),
      end: processes =>
        void commands.execute(CommandIDs.end, {
          processes: processes.map(process => ({ ...process }))
        }),
      copy: text => this._copy(text),
      copyDetails: report => this.copyDetails(kernelId, report)
    }).launch();
    if (session.phase.kind !== 'running' || session.phase.followed) {
      // Whoever started it is told how it ends.
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

  /** Open one plan for several kernels; resolves when the dialog is closed. */
  async freeSeveral(kernelIds: readonly string[]): Promise<void> {
    if (kernelIds.length === 1) {
      // Its own plan also offers what costs something.
      return this.free(kernelIds[0]);
    }
    const batch = new FreeBatch(
      kernelIds.map(id => this._session(id)),
      this._language
    );
    void batch.load();
    await batchDialog(batch).launch();
    if (batch.phase !== 'running') {
      batch.dispose();
      return;
    }
    batch.finished.connect(() => {
      showToast(batchToast(batch));
      batch.dispose();
    });
  }

  async releaseCache(kernelId: string): Promise<void> {
    await this._say(kernelId, { id: 'release-cache' });
  }

  async park(kernelId: string): Promise<void> {
    const subject = this._parkSubject(kernelId);
    await this._say(kernelId, { id: 'park' }, undefined, async report => {
      await this._model.refresh();
      return parkToast(subject, report);
    });
  }

  async restore(kernelId: string): Promise<void> {
    const subject = this._parkSubject(kernelId);
    const parked = this._model.kernel(kernelId)?.parked ?? null;
    await this._say(kernelId, { id: 'restore' }, undefined, async report => {
      await this._model.refresh();
      return restoreToast(subject, report, parked);
    });
  }

  /** Cancel what waits for the kernel, or stop what runs on it after the step under way. */
  async cancel(kernelId: string): Promise<void> {
    try {
      await this._model.cancel(kernelId);
    } catch (error) {
      showToast(failureToast(failureText(this._trans, error)));
    }
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
    if (await this._confirm(kernelId, 'restart')) {
      await this._end(kernelId, 'restart');
    }
  }

  async shutdown(kernelId: string): Promise<void> {
    if (await this._confirm(kernelId, 'shutdown')) {
      await this._end(kernelId, 'shutdown');
    }
  }

  /** End processes; without any named, all leftovers of the reading. */
  end(processes?: readonly IProcess[]): Promise<void> {
    return endProcesses(
      this._model,
      processes ?? leftovers(this._model),
      this._language
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

  /** Of one kernel, or of the whole reading; with what a run brought. */
  copyDetails(kernelId?: string, report?: Report): void {
    const { name, version } = this._app;
    this._copy(details(this._model, `${name} ${version}`, kernelId, report));
  }

  private _copy(text: string): void {
    Clipboard.copyToSystem(text);
    showToast({
      message: this._trans.__('Copied to the clipboard.'),
      type: 'info',
      autoClose: 3000
    });
  }

  private _parkSubject(kernelId: string): IParkSubject {
    return {
      model: this._model,
      commands: this._app.commands,
      kernelId,
      name: kernelTitle(this._model, kernelId, this._trans),
      language: this._language
    };
  }

  private _session(kernelId: string): FreeSession {
    return new FreeSession(this._model, kernelId, this._language, this._runner);
  }

  private _confirm(
    kernelId: string,
    id: 'restart' | 'shutdown'
  ): Promise<boolean> {
    return confirmEnd(this._model, kernelId, id, this._language, this._core);
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
    step: {
      id:
        | 'release-cache'
        | 'park'
        | 'restore'
        | 'interrupt'
        | 'restart'
        | 'shutdown';
    },
    shown?: string,
    toast?: (report: Report) => IToast | null | Promise<IToast | null>
  ): Promise<void> {
    const name = kernelTitle(this._model, kernelId, this._trans);
    let result: IToast | null;
    try {
      const report = await this._runner.run(kernelId, { remedies: [step] });
      result = toast ? await toast(report) : this._reportToast(name, report);
    } catch (error) {
      result = failureToast(failureText(this._trans, error));
    }
    if (result) {
      showToast(result, shown);
    }
  }

  private _reportToast(name: string, report: Report): IToast {
    return reportToast(this._language, this._app.commands, name, report);
  }

  private _trans: TranslationBundle;
  private _runner: KernelRunner;
}
