import { Dialog, showDialog } from '@jupyterlab/apputils';
import { ReactWidget } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import type { IDisposable } from '@lumino/disposable';
import React from 'react';
import { formatBytes } from '../format';
import type { Report, Snapshot } from '../service/wire';
import type { IVramModel } from '../tokens';
import { CommandIDs } from '../tokens';
import type { IPanelContext } from './context';
import { PanelProvider } from './context';
import { DEFAULT_THRESHOLDS, shownGpus } from '../gpus';
import { Header } from './header';
import { kernelNames } from '../names';
import { Banner, Empty } from './notices';
import { kernelRows, trackBusy } from './rows';
import { SideView } from './sideview';
import { isSilent, panelState } from './states';
import type { IPanelState, IStateButton } from './states';
import { TableView } from './tableview';
import { INITIAL_VIEW } from './view';
import type { Density, IView } from './view';
import type { IViewProps, ViewSetter } from './viewprops';
import { SCROLL_CLASS } from './windowed';

// With the panel, not with JupyterLab: most of the style sheet is for what is not on screen yet.
import '../../style/panel.css';

/** Which layout a body draws. */
export type Layout = 'side' | 'wide';

/**
 * Everything below the panel's tab, drawn with React.
 *
 * #### Notes
 * Listens to the model, and makes the server read, only while it is on screen.
 */
export class PanelBody extends ReactWidget {
  constructor(context: IPanelContext, layout: Layout) {
    super();
    this._context = context;
    this._kind = layout;
    this.addClass('jp-Vram-Panel');
    this.toggleClass('jp-mod-wide', layout === 'wide');
  }

  override dispose(): void {
    this._stop();
    super.dispose();
  }

  get density(): Density {
    return this._density;
  }
  set density(value: Density) {
    this._density = value;
    this.update();
  }

  /** Scroll to a kernel's row and give it the focus. */
  reveal(kernelId: string): void {
    this._target = { kernelId };
    const folded = new Set(this._view.folded);
    folded.delete('kernels');
    this._setView({ folded, gpu: null, name: '', longIdleOnly: false });
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    if (this.isVisible) {
      this._start();
    }
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._start();
  }

  protected override onAfterHide(msg: Message): void {
    super.onAfterHide(msg);
    this._stop();
  }

  protected override onBeforeDetach(msg: Message): void {
    this._stop();
    super.onBeforeDetach(msg);
  }

  protected override render(): JSX.Element {
    const { model, trans, locale } = this._context;
    const { snapshot, status, receivedAt, config } = model;
    if (snapshot && snapshot.gpus.length > 0) {
      this._kept = snapshot;
    }
    const kept = snapshot && isSilent(snapshot) ? this._kept : null;
    const state = panelState(trans, {
      snapshot,
      status,
      receivedAt,
      now: Date.now() / 1000,
      kept,
      locale
    });
    const simulated = snapshot?.source === 'simulated';
    return (
      <PanelProvider value={this._context}>
        <Header
          state={state}
          paused={status === 'paused'}
          simulated={simulated}
        />
        <div className={`${SCROLL_CLASS}${state.stale ? ' jp-mod-stale' : ''}`}>
          {state.banner && (
            <Banner notice={state.banner} onButton={this._onButton} />
          )}
          {state.empty ? (
            <Empty notice={state.empty} onButton={this._onButton} />
          ) : (
            snapshot && this._renderReading(kept ?? snapshot, state, config)
          )}
        </div>
        <div role="status" className="jp-Vram-hidden">
          {this._announcement(state, simulated)}
        </div>
      </PanelProvider>
    );
  }

  private _renderReading(
    snapshot: Snapshot,
    { stale }: IPanelState,
    config: IVramModel['config']
  ): JSX.Element {
    const { trans, locale } = this._context;
    if (snapshot !== this._drawn) {
      trackBusy(this._busySince, this._drawn, snapshot);
      this._drawn = snapshot;
    }
    const thresholds = config?.thresholds ?? DEFAULT_THRESHOLDS;
    const names = kernelNames(trans, snapshot.kernels);
    const props: IViewProps = {
      snapshot,
      gpus: shownGpus(snapshot),
      thresholds,
      names,
      rows: kernelRows(snapshot, {
        trans,
        locale,
        thresholds,
        names,
        stale,
        waiting: new Set(
          snapshot.kernels
            .map(({ id }) => id)
            .filter(id => this._context.model.running(id)?.waiting)
        ),
        busySince: this._busySince
      }),
      stale,
      view: this._view,
      onView: this._setView
    };
    return this._kind === 'wide' ? (
      <TableView {...props} />
    ) : (
      <SideView {...props} density={this._density} target={this._target} />
    );
  }

  /** What a screen reader hears: changes of state and results, never a figure of every second. */
  private _announcement(state: IPanelState, simulated: boolean): string {
    const { trans, model } = this._context;
    if (model.status === 'stale') {
      return trans.__('The server does not answer.');
    }
    if (model.status === 'paused') {
      return trans.__('Paused.');
    }
    if (this._result !== '') {
      return this._result;
    }
    return simulated && state.empty === null
      ? trans.__('Simulated GPU: no real one is shown.')
      : '';
  }

  private _start(): void {
    if (this._watch) {
      return;
    }
    const { model } = this._context;
    this._watch = model.watch();
    model.changed.connect(this._onChanged, this);
    model.reported.connect(this._onReported, this);
    this.update();
  }

  private _stop(): void {
    if (!this._watch) {
      return;
    }
    const { model } = this._context;
    model.changed.disconnect(this._onChanged, this);
    model.reported.disconnect(this._onReported, this);
    this._watch.dispose();
    this._watch = null;
    this._tick(false);
  }

  private _onChanged(): void {
    this._tick(this._context.model.status === 'stale');
    this.update();
  }

  /** While nothing arrives, "stopped 48 s ago" still has to move on. */
  private _tick(on: boolean): void {
    if (on && this._timer === null) {
      this._timer = window.setInterval(() => this.update(), 1000);
    } else if (!on && this._timer !== null) {
      window.clearInterval(this._timer);
      this._timer = null;
    }
  }

  private _onReported(_: IVramModel, report: Report): void {
    if (!report.finished) {
      return;
    }
    const { model, trans, locale } = this._context;
    const kernel = model.kernel(report.kernel_id);
    const name = kernel && kernelNames(trans, [kernel]).get(kernel.id)!;
    const freed = formatBytes(report.freed, { locale });
    this._result = name
      ? trans.__('Freed %1 of %2.', freed, name)
      : trans.__('Freed %1.', freed);
    this.update();
  }

  private readonly _setView: ViewSetter = change => {
    this._view = {
      ...this._view,
      ...(typeof change === 'function' ? change(this._view) : change)
    };
    this.update();
  };

  private readonly _onButton = ({ action }: IStateButton): void => {
    const { model, trans, execute, report } = this._context;
    switch (action) {
      case 'refresh':
        report(model.refresh());
        break;
      case 'reload':
        window.location.reload();
        break;
      case 'simulate':
        execute(CommandIDs.simulate, { on: true });
        break;
      case 'copy':
        execute(CommandIDs.copyDetails);
        break;
      case 'admin':
        report(
          showDialog({
            title: trans.__('What to ask your admin'),
            body: trans.__(
              'A container has its own list of processes, in which the driver’s process numbers mean nothing. Started with the computer’s list (Docker: --pid=host, Kubernetes: hostPID: true), it shows who holds the rest of the GPU. Windows and WSL tell nobody; there is nothing to ask for.'
            ),
            buttons: [Dialog.okButton()]
          })
        );
        break;
    }
  };

  private readonly _context: IPanelContext;
  private readonly _kind: Layout;
  private readonly _busySince = new Map<string, number>();
  private _drawn: Snapshot | null = null;
  /** The last reading with GPUs: what is shown, grey, while the driver is silent. */
  private _kept: Snapshot | null = null;
  private _density: Density = 'auto';
  private _view: IView = INITIAL_VIEW;
  private _target: { readonly kernelId: string } | null = null;
  private _result = '';
  private _watch: IDisposable | null = null;
  private _timer: number | null = null;
}
