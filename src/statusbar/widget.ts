import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import type { ReadonlyJSONValue } from '@lumino/coreutils';
import { JSONExt } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import type { Message } from '@lumino/messaging';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { executeIfThere } from '../execute';
import { unpluggedIcon, warnIcon } from '../icons';
import type { IVramModel } from '../tokens';
import { CommandIDs } from '../tokens';
import type { IStatusPart, IStatusState } from './state';
import { statusState } from './state';

/** Free GPU memory in the status bar; a button that opens or closes the panel. */
export class VramStatus extends Widget {
  constructor(private readonly options: VramStatus.IOptions) {
    super({ node: document.createElement('button') });
    this.addClass('jp-Vram-Status');
    this.addClass('jp-mod-highlighted');
    this.node.setAttribute('type', 'button');
    // One look tells whether there is a GPU to show at all.
    this._watch = options.model.watch();
    options.model.changed.connect(this._refresh, this);
    options.tracker?.currentChanged.connect(this._refresh, this);
  }

  /** Whether there is something to show. */
  get isActive(): boolean {
    return this._state !== null;
  }

  get activeStateChanged(): ISignal<this, void> {
    return this._activeStateChanged;
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this.options.model.changed.disconnect(this._refresh, this);
    this.options.tracker?.currentChanged.disconnect(this._refresh, this);
    this._watch?.dispose();
    super.dispose();
  }

  handleEvent(event: Event): void {
    if (event.type === 'click') {
      executeIfThere(this.options.commands, CommandIDs.open);
    }
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    this.node.addEventListener('click', this);
    this._look();
  }

  protected override onBeforeDetach(msg: Message): void {
    this.node.removeEventListener('click', this);
    super.onBeforeDetach(msg);
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._look();
  }

  protected override onAfterHide(msg: Message): void {
    super.onAfterHide(msg);
    this._look();
  }

  /** Watch while visible, and until it is known whether to be visible. */
  private _look(): void {
    const { snapshot, status } = this.options.model;
    const isOpen = status === 'starting' || snapshot?.state === 'starting';
    if (this.isVisible || isOpen) {
      this._watch ??= this.options.model.watch();
    } else {
      this._watch?.dispose();
      this._watch = null;
    }
  }

  private _refresh(): void {
    const { model, tracker, trans, locale } = this.options;
    const kernel = tracker?.currentWidget?.sessionContext.session?.kernel;
    const state = statusState(model, kernel?.id ?? null, trans, locale);
    const isSame = JSONExt.deepEqual(
      state as unknown as ReadonlyJSONValue,
      this._state as unknown as ReadonlyJSONValue
    );
    if (!isSame) {
      const wasActive = this.isActive;
      this._state = state;
      if (state !== null) {
        this.node.replaceChildren(...Private.content(state, trans));
        this.node.setAttribute('aria-label', state.label);
        this.node.title = state.title;
      }
      if (wasActive !== this.isActive) {
        this._activeStateChanged.emit();
      }
    }
    this._look();
  }

  private _state: IStatusState | null = null;
  private _watch: IDisposable | null;
  private readonly _activeStateChanged = new Signal<this, void>(this);
}

export namespace VramStatus {
  export interface IOptions {
    readonly model: IVramModel;
    readonly commands: CommandRegistry;
    /** Tells the current notebook. */
    readonly tracker: INotebookTracker | null;
    readonly trans: TranslationBundle;
    /** BCP 47 tag, default the browser's. */
    readonly locale?: string;
  }
}

namespace Private {
  /** The button's content; all of it is said by its accessible name. */
  export function content(
    state: IStatusState,
    trans: TranslationBundle
  ): HTMLElement[] {
    const parts = state.parts.map(part);
    return state.simulated
      ? [text('jp-Vram-Status-simulated', trans.__('Simulated')), ...parts]
      : parts;
  }

  function part(part: IStatusPart): HTMLElement {
    const node = text('jp-Vram-Status-part', '');
    if (part.icon !== null) {
      const icon = part.icon === 'warn' ? warnIcon : unpluggedIcon;
      node.append(
        icon.element({
          tag: 'span',
          className: 'jp-Vram-Icon jp-mod-inline'
        })
      );
    }
    if (part.name !== null) {
      node.append(text('', part.name));
      const bar = text('jp-Vram-Status-bar', '');
      bar.classList.toggle('jp-mod-high', part.high);
      const used = text('jp-Vram-Status-used', '');
      used.style.width = `${100 * (part.share ?? 0)}%`;
      bar.append(used);
      node.append(bar);
    }
    node.append(text('jp-Vram-Status-text', part.text));
    return node;
  }

  function text(className: string, content: string): HTMLElement {
    const node = document.createElement('span');
    node.className = className;
    node.textContent = content;
    return node;
  }
}
