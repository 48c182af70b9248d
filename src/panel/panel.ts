import type { Message } from '@lumino/messaging';
import { Panel } from '@lumino/widgets';
import type { PanelBody } from './body';
import type { IPanelContext } from './context';
import type { Density } from './view';

/** The side panel's id. */
export const PANEL_ID = 'jp-vram-panel';

/**
 * The side panel. What it shows is loaded when it is first on screen.
 */
export class VramPanel extends Panel {
  constructor(context: IPanelContext) {
    super();
    this._context = context;
    this.id = PANEL_ID;
    this.addClass('jp-Vram-Side');
  }

  set density(value: Density) {
    this._density = value;
    if (this._body) {
      this._body.density = value;
    }
  }

  /** Scroll to a kernel's row, as soon as the panel is on screen. */
  async reveal(kernelId: string): Promise<void> {
    (await this._load()).reveal(kernelId);
  }

  protected override onAfterAttach(msg: Message): void {
    super.onAfterAttach(msg);
    if (this.isVisible) {
      this._context.report(this._load());
    }
  }

  protected override onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._context.report(this._load());
  }

  private _load(): Promise<PanelBody> {
    this._loading ??= import('./body').then(({ PanelBody }) => {
      const body = new PanelBody(this._context, 'side');
      body.density = this._density;
      this._body = body;
      this.addWidget(body);
      return body;
    });
    return this._loading;
  }

  private readonly _context: IPanelContext;
  private _density: Density = 'auto';
  private _body: PanelBody | null = null;
  private _loading: Promise<PanelBody> | null = null;
}
