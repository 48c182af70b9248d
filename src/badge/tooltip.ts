import type { IDisposable } from '@lumino/disposable';
import { UUID } from '@lumino/coreutils';
import type { IBadgeTip } from './state';

/** Milliseconds that the pointer rests before the tip shows, as browsers do. */
const REST = 400;

/** Milliseconds to get from the button to the tip, to read or copy from it. */
const LEAVE = 200;

/**
 * The text beside a badge: shown on hover and on keyboard focus, hidden by Escape, and the
 * button's accessible description at any time.
 */
export class BadgeTooltip implements IDisposable {
  /**
   * @param host - Takes the tip's node; must contain the button.
   * @param button - What the tip describes.
   */
  constructor(
    private readonly host: HTMLElement,
    private readonly button: HTMLElement
  ) {
    this.node.className = 'jp-Vram-Tip';
    this.node.id = `jp-vram-tip-${UUID.uuid4()}`;
    this.node.setAttribute('role', 'tooltip');
    // In the top layer: toolbars cut off what sticks out of them.
    this.node.popover = 'manual';
    host.append(this.node);
    button.setAttribute('aria-describedby', this.node.id);
    host.addEventListener('pointerenter', this);
    host.addEventListener('pointerleave', this);
    button.addEventListener('focus', this);
    button.addEventListener('blur', this);
  }

  readonly node = document.createElement('div');

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this.hide();
    this.host.removeEventListener('pointerenter', this);
    this.host.removeEventListener('pointerleave', this);
    this.button.removeEventListener('focus', this);
    this.button.removeEventListener('blur', this);
    this.node.remove();
  }

  setContent(tip: IBadgeTip): void {
    const title = document.createElement('strong');
    title.textContent = tip.title;
    const rows = tip.rows.map(([label, value]) => {
      const row = document.createElement('div');
      row.className = 'jp-Vram-Tip-row';
      const name = document.createElement('span');
      name.textContent = label;
      const figure = document.createElement('span');
      figure.className = 'jp-Vram-Tip-figure';
      figure.textContent = value;
      row.append(name, ' ', figure);
      return row;
    });
    const lines = tip.lines.map(text => {
      const line = document.createElement('div');
      line.className = 'jp-Vram-Tip-line';
      line.textContent = text;
      return line;
    });
    this.node.replaceChildren(title, ...rows, ...lines);
    if (this._isShown) {
      this._place();
    }
  }

  hide(): void {
    clearTimeout(this._timer);
    if (this._isShown) {
      this._isShown = false;
      document.removeEventListener('keydown', this, true);
      this.node.hidePopover();
    }
  }

  handleEvent(event: Event): void {
    clearTimeout(this._timer);
    switch (event.type) {
      case 'pointerenter':
        this._timer = setTimeout(() => this._show(), REST);
        break;
      case 'pointerleave':
        if (!this.button.matches(':focus-visible')) {
          this._timer = setTimeout(() => this.hide(), LEAVE);
        }
        break;
      case 'focus':
        if (this.button.matches(':focus-visible')) {
          this._show();
        }
        break;
      case 'blur':
        this.hide();
        break;
      case 'keydown':
        if ((event as KeyboardEvent).key === 'Escape') {
          this.hide();
        }
        break;
    }
  }

  private _show(): void {
    if (!this._isShown && this.button.isConnected && !this.button.hidden) {
      this._isShown = true;
      document.addEventListener('keydown', this, true);
      this.node.showPopover();
      this._place();
    }
  }

  /** Below the button, inside the window, with the tip's arrow at the button's middle. */
  private _place(): void {
    const { left, right, bottom } = this.button.getBoundingClientRect();
    const width = this.node.offsetWidth;
    const middle = (left + right) / 2;
    const start = Math.max(
      8,
      Math.min(middle - width / 2, window.innerWidth - width - 8)
    );
    this.node.style.left = `${start}px`;
    this.node.style.top = `${bottom + 6}px`;
    this.node.style.setProperty('--vram-tip-arrow', `${middle - start}px`);
  }

  private _isShown = false;
  private _isDisposed = false;
  private _timer: ReturnType<typeof setTimeout> | undefined;
}
