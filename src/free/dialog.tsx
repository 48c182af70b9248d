import { Dialog } from '@jupyterlab/apputils';
import { closeIcon, ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import type { Widget } from '@lumino/widgets';
import React from 'react';
import { formatBytes } from '../format';
import { KernelKey } from '../kernelkey';
import { Banner } from './banner';
import { BusyView } from './busy';
import { footerOf, titleOf, type IFooterButton } from './footer';
import { PlanView } from './plan';
import { ResultView } from './result';
import { currentStep, RunningView } from './running';
import type { FreeSession } from './session';
import { gpuTitle, measuredText, stateText } from './subject';

const TITLE_ID = 'jp-vram-free-title';

/** What the dialog asks of its surroundings; each closes the dialog first where it opens another. */
export interface IFreeActions {
  restart: () => void;
  end: (processes: { pid: number; startedAt: number }[]) => void;
  copyDetails: () => void;
}

/**
 * JupyterLab's dialog around a `FreeSession`: its two buttons follow the session's phase, and only
 * closing it resolves it.
 */
export class FreeDialog extends Dialog<void> {
  constructor(session: FreeSession, actions: IFreeActions) {
    const renderer = new FreeRenderer();
    super({
      title: (
        <UseSignal signal={session.changed}>
          {() => <Header session={session} onClose={() => this.reject()} />}
        </UseSignal>
      ),
      body: new FreeBody(session, {
        ...actions,
        restart: () => {
          this.reject();
          actions.restart();
        },
        end: processes => {
          this.reject();
          actions.end(processes);
        }
      }),
      // Labels, colours and effects come with each phase.
      buttons: [Dialog.cancelButton(), Dialog.okButton()],
      renderer
    });
    this._session = session;
    this._actions = actions;
    this._renderer = renderer;
    this.addClass('jp-Vram-FreeDialog');
    this.node.setAttribute('aria-labelledby', TITLE_ID);
    session.changed.connect(this._update, this);
    this._update();
  }

  override dispose(): void {
    this._session.changed.disconnect(this._update, this);
    super.dispose();
  }

  /** A button was used, with the mouse or with Enter: 0 is the left one. */
  override resolve(index: number = 1): void {
    const button = index === 0 ? this._footer.secondary : this._footer.primary;
    if (!button || button.disabled) {
      return;
    }
    switch (button.does) {
      case 'close':
        this.reject();
        break;
      case 'run':
        void this._session.run();
        break;
      case 'load':
        void this._session.load();
        break;
      case 'restart':
        this.reject();
        this._actions.restart();
        break;
    }
  }

  override handleEvent(event: Event): void {
    if (event.type === 'input') {
      // Core enables its accept buttons on every input; here the phase decides.
      return;
    }
    if (event.type === 'keydown') {
      const { key, shiftKey } = event as KeyboardEvent;
      if (key === 'Tab') {
        this._cycleFocus(event, shiftKey);
        return;
      }
      if (
        key === 'Enter' &&
        this._footer.primary?.kind === 'warn' &&
        !(document.activeElement instanceof HTMLButtonElement)
      ) {
        // Work would be lost: only the button itself may be pressed.
        event.stopPropagation();
        event.preventDefault();
        return;
      }
    }
    super.handleEvent(event);
  }

  /** Bring title, note and buttons to the session's phase. */
  private _update(): void {
    const before = this._footer;
    this._footer = footerOf(this._session);
    const { secondary, primary, note } = this._footer;
    const [left, right] = this._renderer.buttonNodes;
    show(left, secondary);
    show(right, primary);
    this._renderer.note.textContent = note;
    const focused = document.activeElement;
    if (
      this.isAttached &&
      (before.phase !== this._footer.phase ||
        focused === document.body ||
        [left, right].some(
          node => node === focused && (node.hidden || node.disabled)
        ))
    ) {
      this._focusFirst();
    }
  }

  protected override onAfterAttach(
    msg: Parameters<Widget['processMessage']>[0]
  ): void {
    super.onAfterAttach(msg);
    void this.ready.then(() => this._focusFirst());
  }

  /** The primary button while nothing is lost, else the one that changes nothing. */
  private _focusFirst(): void {
    const { primary, secondary } = this._footer;
    const [left, right] = this._renderer.buttonNodes;
    const safe = primary && !primary.disabled && primary.kind !== 'warn';
    (safe || !secondary ? right : left).focus();
  }

  /** Keep Tab inside: core's own wrap only knows the elements of the first rendering. */
  private _cycleFocus(event: Event, back: boolean): void {
    const stops = Array.from(
      this.node.querySelectorAll<HTMLElement>('button, input')
    ).filter(
      node =>
        !node.hidden && !(node as HTMLButtonElement | HTMLInputElement).disabled
    );
    const edge = back ? stops[0] : stops[stops.length - 1];
    if (document.activeElement === edge) {
      event.preventDefault();
      stops[back ? stops.length - 1 : 0].focus();
    }
    event.stopPropagation();
  }

  private _session: FreeSession;
  private _actions: IFreeActions;
  private _renderer: FreeRenderer;
  private _footer: ReturnType<typeof footerOf> = { phase: 'loading', note: '' };
}

/** Core's renderer, which keeps the button nodes and adds a note beside them. */
class FreeRenderer extends Dialog.Renderer {
  readonly buttonNodes: HTMLButtonElement[] = [];
  readonly note = document.createElement('span');

  override createButtonNode(button: Dialog.IButton): HTMLButtonElement {
    const node = super.createButtonNode(button) as HTMLButtonElement;
    this.buttonNodes.push(node);
    return node;
  }

  override createFooter(
    buttons: ReadonlyArray<HTMLElement>,
    checkbox: HTMLElement | null
  ): Widget {
    const footer = super.createFooter(buttons, checkbox);
    this.note.className = 'jp-Vram-FreeDialog-note';
    footer.node.prepend(this.note);
    return footer;
  }
}

function show(
  node: HTMLButtonElement,
  button: IFooterButton | undefined
): void {
  node.hidden = button === undefined;
  if (!button) {
    return;
  }
  for (const kind of ['accept', 'warn', 'reject']) {
    node.classList.toggle(`jp-mod-${kind}`, kind === button.kind);
  }
  node.disabled = button.disabled ?? false;
  const label = node.querySelector('.jp-Dialog-buttonLabel')!;
  label.textContent = button.label;
  label.setAttribute('aria-label', button.label);
}

function Header(props: {
  session: FreeSession;
  onClose: () => void;
}): JSX.Element {
  const { session, onClose } = props;
  const close = session.trans.__('Close');
  return (
    <>
      <span id={TITLE_ID} className="jp-Vram-FreeDialog-title">
        {titleOf(session)}
      </span>
      <button
        className="jp-Vram-FreeDialog-close"
        title={close}
        aria-label={close}
        onClick={onClose}
      >
        <closeIcon.react tag="span" aria-hidden="true" />
      </button>
    </>
  );
}

class FreeBody extends ReactWidget {
  constructor(
    private _session: FreeSession,
    private _actions: IFreeActions
  ) {
    super();
  }

  protected override render(): JSX.Element {
    const session = this._session;
    return (
      <UseSignal signal={session.changed}>
        {() => (
          <UseSignal signal={session.model.changed}>
            {() => (
              <>
                <Subject session={session} />
                <PhaseView session={session} actions={this._actions} />
              </>
            )}
          </UseSignal>
        )}
      </UseSignal>
    );
  }
}

/** Letter, GPU, state, size: whose memory this is about. */
function Subject(props: { session: FreeSession }): JSX.Element | null {
  const { model, kernelId, trans, phase } = props.session;
  if (phase.kind === 'result') {
    return null;
  }
  const key = model.keyOf(kernelId);
  const kernel = model.kernel(kernelId);
  const plan = 'plan' in phase ? phase.plan : null;
  const held = plan?.bytes ?? kernel?.bytes ?? null;
  const parts = [
    gpuTitle(model, Object.keys(plan?.gpus ?? kernel?.gpus ?? {}), trans),
    stateText(model, kernelId, trans),
    trans.__('holds %1', formatBytes(held))
  ];
  if (phase.kind === 'running') {
    const step = currentStep(phase);
    parts.push(
      trans.__(
        'step %1 of %2',
        Math.min(step + 1, phase.remedies.length),
        phase.remedies.length
      )
    );
  } else if (plan?.measured_at) {
    parts.push(measuredText(model, plan.measured_at, trans));
  }
  return (
    <p className="jp-Vram-FreeSubject">
      {key && <KernelKey kernelKey={key} />}
      <span>{parts.filter(part => part).join(' · ')}</span>
    </p>
  );
}

function PhaseView(props: {
  session: FreeSession;
  actions: IFreeActions;
}): JSX.Element {
  const { session, actions } = props;
  const { phase, model, kernelId, trans } = session;
  const kernelKey = model.keyOf(kernelId);
  switch (phase.kind) {
    case 'loading':
      return (
        <p className="jp-Vram-FreeNote" role="status">
          {trans.__('Measuring what can be freed…')}
        </p>
      );
    case 'failed':
      return (
        <Banner tone="fail" role="alert">
          {phase.text}
        </Banner>
      );
    case 'gone':
      return (
        <Banner tone="note" role="status">
          {phase.text ??
            trans.__(
              'This kernel has ended. What its processes still hold is listed under “Leftover” in the GPU memory panel.'
            )}
        </Banner>
      );
    case 'plan':
      return (
        <PlanView
          plan={phase.plan}
          ticks={phase.ticks}
          kernelKey={kernelKey}
          onTick={id => session.tick(id)}
          trans={trans}
        />
      );
    case 'busy':
      return (
        <BusyView
          plan={phase.plan}
          choice={phase.choice}
          onChoose={choice => session.choose(choice)}
          trans={trans}
        />
      );
    case 'running':
      return <RunningView {...phase} trans={trans} />;
    case 'result':
      return (
        <ResultView
          result={phase.result}
          name={session.name}
          kernelKey={kernelKey}
          model={model}
          onPlanAgain={() => void session.load()}
          onCopy={actions.copyDetails}
          onEnd={actions.end}
          trans={trans}
        />
      );
  }
}
