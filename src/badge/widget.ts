import type { ISessionContext } from '@jupyterlab/apputils';
import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { CommandRegistry } from '@lumino/commands';
import { JSONExt } from '@lumino/coreutils';
import type { ReadonlyJSONValue } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { parkedIcon, unknownIcon, warnIcon } from '../icons';
import { createKernelKey, hueClass } from '../kernelkey';
import { executeIfThere } from '../execute';
import { openKernelMenuAt } from '../kernelmenu';
import type { IVramModel } from '../tokens';
import { CommandIDs } from '../tokens';
import type { ILanguage } from '../language';
import type { IBadgeState } from './state';
import { badgeState } from './state';
import { BadgeTooltip } from './tooltip';

/** A toolbar item: how much GPU memory the kernel of one notebook holds. */
export class VramBadge extends Widget {
  constructor(private readonly options: VramBadge.IOptions) {
    super();
    this.addClass('jp-Vram-BadgeItem');
    this._button.type = 'button';
    this._button.className = 'jp-Vram-Badge';
    this._button.hidden = true;
    this.node.append(this._button);
    this._tooltip = new BadgeTooltip(this.node, this._button);
    options.model.changed.connect(this._refresh, this);
    options.sessionContext.kernelChanged.connect(this._refresh, this);
  }

  override dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this.options.model.changed.disconnect(this._refresh, this);
    this.options.sessionContext.kernelChanged.disconnect(this._refresh, this);
    this._tooltip.dispose();
    this._watch?.dispose();
    super.dispose();
  }

  handleEvent(event: Event): void {
    if (event.type === 'click') {
      this._tooltip.hide();
      this._click();
    } else if (event.type === 'contextmenu' && this._kernelId !== null) {
      // Of the pointer, and of Shift+F10 and the menu key.
      event.preventDefault();
      event.stopPropagation();
      this._tooltip.hide();
      openKernelMenuAt(this.options.commands, this._kernelId, this._button);
    }
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    this._button.addEventListener('click', this);
    this._button.addEventListener('contextmenu', this);
    this._look();
  }

  protected override onBeforeDetach(msg: Message): void {
    this._button.removeEventListener('click', this);
    this._button.removeEventListener('contextmenu', this);
    this._lookAway();
    super.onBeforeDetach(msg);
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._look();
  }

  protected override onBeforeHide(msg: Message): void {
    this._lookAway();
    super.onBeforeHide(msg);
  }

  private get _kernelId(): string | null {
    return this.options.sessionContext.session?.kernel?.id ?? null;
  }

  private _look(): void {
    if (this.isVisible && this._watch === null) {
      this._watch = this.options.model.watch();
      this._refresh();
    }
  }

  private _lookAway(): void {
    this._tooltip.hide();
    this._watch?.dispose();
    this._watch = null;
  }

  private _click(): void {
    const { commands, trans } = this.options;
    const kernelId = this._kernelId;
    switch (this._state?.action) {
      case 'open':
        executeIfThere(commands, CommandIDs.open, { kernelId });
        break;
      case 'free':
        executeIfThere(commands, CommandIDs.free, { kernelId });
        break;
      case 'restore':
        executeIfThere(commands, CommandIDs.restore, { kernelId });
        break;
      case 'help':
        void showDialog({
          title: this._state.tip.title,
          body: [
            ...this._state.tip.lines,
            trans.__(
              'Restarting or shutting down this kernel gives its GPU memory back all the same.'
            )
          ].join(' '),
          buttons: [Dialog.okButton()]
        });
        break;
    }
  }

  private _refresh(): void {
    if (!this.isVisible) {
      return;
    }
    const state = badgeState(this.options.model, this._kernelId, this.options);
    const isSame = JSONExt.deepEqual(
      state as unknown as ReadonlyJSONValue,
      this._state as unknown as ReadonlyJSONValue
    );
    if (isSame) {
      return;
    }
    this._state = state;
    this._button.hidden = state === null;
    if (state === null) {
      this._tooltip.hide();
      return;
    }
    this._button.className = [
      'jp-Vram-Badge',
      `jp-mod-${state.kind}`,
      state.faded ? 'jp-mod-stale' : ''
    ].join(' ');
    this._button.setAttribute('aria-label', state.label);
    if (state.action === 'open' || state.action === 'restore') {
      this._button.removeAttribute('aria-haspopup');
    } else {
      this._button.setAttribute('aria-haspopup', 'dialog');
    }
    this._button.replaceChildren(...Private.parts(state, this.options));
    this._tooltip.setContent(state.tip);
  }

  private readonly _button = document.createElement('button');
  private readonly _tooltip: BadgeTooltip;
  private _state: IBadgeState | null = null;
  private _watch: IDisposable | null = null;
}

export namespace VramBadge {
  export interface IOptions extends ILanguage {
    readonly model: IVramModel;
    /** Whose kernel is shown. */
    readonly sessionContext: ISessionContext;
    readonly commands: CommandRegistry;
  }
}

namespace Private {
  /** The button's content; all of it is said by its accessible name. */
  export function parts(
    state: IBadgeState,
    { trans }: ILanguage
  ): HTMLElement[] {
    const parts: HTMLElement[] = [];
    if (state.simulated) {
      parts.push(text('jp-Vram-Badge-simulated', trans.__('Simulated')));
    }
    if (state.kind === 'high') {
      parts.push(warnIcon.element({ tag: 'span', className: 'jp-Vram-Icon' }));
    } else if (state.kind === 'unknown') {
      parts.push(
        unknownIcon.element({ tag: 'span', className: 'jp-Vram-Icon' })
      );
    }
    if (state.key !== null && state.kind !== 'unknown') {
      parts.push(createKernelKey(state.key, state.kind === 'parked'));
      if (state.bar !== null) {
        const bar = text(`jp-Vram-Badge-bar ${hueClass(state.key)}`, '');
        bar.append(
          segment('jp-Vram-other', state.bar.others),
          segment('jp-Vram-Badge-own', state.bar.own)
        );
        parts.push(bar);
      }
    }
    if (state.kind === 'parked') {
      parts.push(
        parkedIcon.element({ tag: 'span', className: 'jp-Vram-Icon' })
      );
    }
    parts.push(text('jp-Vram-Badge-size', state.size));
    if (state.note !== null) {
      parts.push(text('jp-Vram-Badge-note', state.note));
    }
    return parts;
  }

  function text(className: string, content: string): HTMLElement {
    const node = document.createElement('span');
    node.className = className;
    node.textContent = content;
    return node;
  }

  function segment(className: string, share: number): HTMLElement {
    const node = text(className, '');
    node.style.width = `${100 * share}%`;
    return node;
  }
}
