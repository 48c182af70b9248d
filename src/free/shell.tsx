import { Dialog } from '@jupyterlab/apputils';
import { closeIcon, UseSignal } from '@jupyterlab/ui-components';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ISignal } from '@lumino/signaling';
import type { Widget } from '@lumino/widgets';
import React from 'react';
import type { Phase } from './session';

/** One of the two buttons of a dialog. */
export interface IFooterButton {
  readonly label: string;
  readonly kind: 'accept' | 'warn' | 'reject';
  readonly disabled?: boolean;
  /** `restart`: close this dialog and ask for a restart. */
  readonly does: 'close' | 'run' | 'load' | 'stop' | 'restart';
}

export interface IFooter {
  readonly phase: Phase['kind'];
  /** The line before the buttons. */
  readonly note: string;
  readonly secondary?: IFooterButton;
  readonly primary?: IFooterButton;
}

/** What a shell shows, asked for again at every change. */
export interface IShellContent {
  readonly changed: ISignal<unknown, void>;
  readonly trans: TranslationBundle;
  readonly body: Dialog.IBodyWidget;
  title: () => string;
  footer: () => IFooter;
  run: () => Promise<void>;
  load: () => Promise<void>;
  /** Leave out the steps that have not begun. */
  stop?: () => Promise<void>;
  /** Ask for a restart, after the dialog was closed. */
  restart?: () => void;
}

const TITLE_ID = 'jp-vram-free-title';

/**
 * JupyterLab's dialog with two buttons that follow what it shows; only closing it resolves it.
 */
export class FreeShell extends Dialog<void> {
  constructor(content: IShellContent) {
    const renderer = new ShellRenderer();
    super({
      title: (
        <UseSignal signal={content.changed}>
          {() => <Header content={content} onClose={() => this.reject()} />}
        </UseSignal>
      ),
      body: content.body,
      // Labels, colours and effects come with each phase.
      buttons: [Dialog.cancelButton(), Dialog.okButton()],
      renderer
    });
    this._content = content;
    this._renderer = renderer;
    this.addClass('jp-Vram-FreeDialog');
    this.node.setAttribute('aria-labelledby', TITLE_ID);
    content.changed.connect(this._update, this);
    this._update();
  }

  override dispose(): void {
    this._content.changed.disconnect(this._update, this);
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
        void this._content.run();
        break;
      case 'load':
        void this._content.load();
        break;
      case 'stop':
        void this._content.stop?.();
        break;
      case 'restart':
        this.reject();
        this._content.restart?.();
        break;
    }
  }

  override handleEvent(event: Event): void {
    if (event.type === 'input') {
      // Core enables its accept buttons on every input; here the phase decides.
      return;
    }
    if (event.type === 'click' && (event as MouseEvent).detail > 1) {
      // The second half of a double click: the button may be another one by now.
      return;
    }
    if (event.type === 'keydown') {
      const { key, shiftKey, repeat } = event as KeyboardEvent;
      if (key === 'Tab') {
        this._cycleFocus(event, shiftKey);
        return;
      }
      if (key === 'Enter' && repeat) {
        // Held down: what it pressed first may be gone by now.
        event.stopPropagation();
        event.preventDefault();
        return;
      }
      if (
        key === 'Enter' &&
        this._footer.primary?.kind === 'warn' &&
        !document.activeElement?.matches('button, summary')
      ) {
        // Work would be lost: only the button itself may be pressed.
        event.stopPropagation();
        event.preventDefault();
        return;
      }
    }
    super.handleEvent(event);
  }

  /** Bring title, note and buttons to the phase. */
  private _update(): void {
    const before = this._footer;
    this._footer = this._content.footer();
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
      this.node.querySelectorAll<HTMLElement>('button, input, select, summary')
    ).filter(node => !node.hidden && !(node as HTMLInputElement).disabled);
    const edge = back ? stops[0] : stops[stops.length - 1];
    if (document.activeElement === edge) {
      event.preventDefault();
      stops[back ? stops.length - 1 : 0].focus();
    }
    event.stopPropagation();
  }

  private _content: IShellContent;
  private _renderer: ShellRenderer;
  private _footer: IFooter = { phase: 'loading', note: '' };
}

/** Core's renderer, which keeps the button nodes and adds a note beside them. */
class ShellRenderer extends Dialog.Renderer {
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
  content: IShellContent;
  onClose: () => void;
}): JSX.Element {
  const { content, onClose } = props;
  const close = content.trans.__('Close');
  return (
    <>
      <span id={TITLE_ID} className="jp-Vram-FreeDialog-title">
        {content.title()}
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
