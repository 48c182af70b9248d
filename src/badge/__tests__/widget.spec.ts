import type { ISessionContext } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { kernel, panel, parked } from '../../__tests__/mockup';
import type { VramModel } from '../../model/model';
import {
  readModel,
  snapshot,
  TestServer,
  until
} from '../../service/__tests__/server';
import { CommandIDs } from '../../tokens';
import { VramBadge } from '../widget';

/** What the badge asks of a session: whose kernel it is, and when that changes. */
class Session {
  readonly kernelChanged = new Signal<this, unknown>(this);
  session: { kernel: { id: string } | null } | null = null;

  become(id: string | null): void {
    this.session = { kernel: id === null ? null : { id } };
    this.kernelChanged.emit(undefined);
  }
}

describe('VramBadge', () => {
  let server: TestServer;
  let model: VramModel;
  let session: Session;
  let badge: VramBadge;
  let ran: [string, unknown][];

  beforeAll(() => {
    // jsdom has no top layer; browsers do.
    HTMLElement.prototype.showPopover ??= function (this: HTMLElement) {
      this.dataset.shown = '';
    };
    HTMLElement.prototype.hidePopover ??= function (this: HTMLElement) {
      delete this.dataset.shown;
    };
  });

  beforeEach(async () => {
    server = await TestServer.start();
    model = await readModel(server);
    session = new Session();
    ran = [];
    const commands = new CommandRegistry();
    for (const id of [
      CommandIDs.open,
      CommandIDs.free,
      CommandIDs.restart,
      CommandIDs.restore,
      CommandIDs.interrupt
    ]) {
      commands.addCommand(id, {
        label: id,
        execute: args => void ran.push([id, args])
      });
    }
    badge = new VramBadge({
      model,
      sessionContext: session as unknown as ISessionContext,
      commands,
      trans: nullTranslator.load('jupyterlab_vram'),
      locale: 'en'
    });
    session.become('llm-eval');
    Widget.attach(badge, document.body);
  });

  afterEach(async () => {
    badge.dispose();
    model.dispose();
    await server.stop();
  });

  const button = () => badge.node.querySelector('button')!;
  const tip = () => badge.node.querySelector<HTMLElement>('[role=tooltip]')!;
  const text = () => button().textContent!.replaceAll('\u00a0', ' ');

  it('is a button that a screen reader can read', () => {
    expect(button().type).toBe('button');
    expect(button().hidden).toBe(false);
    expect(button().getAttribute('aria-label')).toContain('holds 5.4');
    expect(button().getAttribute('aria-describedby')).toBe(tip().id);
    expect(tip().textContent).toContain('Click to open.');
    expect(text()).toBe('C5.4 GiB');
  });

  it('opens the panel at its kernel', () => {
    button().click();
    expect(ran).toEqual([[CommandIDs.open, { kernelId: 'llm-eval' }]]);
  });

  it('opens the plan where its GPU is nearly full', () => {
    session.become('train-resnet');
    expect(text()).toBe('A15.8 GiB· 94 % full');
    expect(button().getAttribute('aria-haspopup')).toBe('dialog');
    button().click();
    expect(ran).toEqual([[CommandIDs.free, { kernelId: 'train-resnet' }]]);
  });

  it('brings parked memory back', async () => {
    server.answers['GET snapshot'] = { body: snapshot(parked()) };
    await model.refresh();
    session.become('embeddings');
    expect(text()).toBe('BParked · 6.9 GiB in host RAM');
    expect(button().querySelector('.jp-Vram-Key')!.classList).toContain(
      'jp-mod-parked'
    );
    expect(button().hasAttribute('aria-haspopup')).toBe(false);
    button().click();
    expect(ran).toEqual([[CommandIDs.restore, { kernelId: 'embeddings' }]]);
  });

  it('helps where the size is unknown', async () => {
    const reading = panel();
    reading.kernels = [kernel('odd.ipynb', { 'GPU-0': null }, 1)];
    server.answers['GET snapshot'] = { body: snapshot(reading) };
    await model.refresh();
    session.become('odd');
    button().click();
    const shown = () => document.querySelector('.jp-Dialog');
    await until(() => shown()?.textContent?.includes('Size unknown') ?? false);
    const dialog = shown()!;
    expect(dialog.textContent).toContain('Restarting or shutting down');
    dialog.querySelector<HTMLElement>('.jp-mod-accept')!.click();
    expect(ran).toEqual([]);
  });

  it('follows the notebook to another kernel, to one without memory, to none', () => {
    session.become('embeddings');
    expect(text()).toContain('11.2 GiB');
    session.become('notes');
    expect(button().hidden).toBe(true);
    session.become('llm-eval');
    expect(button().hidden).toBe(false);
    session.become(null);
    expect(button().hidden).toBe(true);
  });

  it('follows the readings', async () => {
    await until(() => server.sockets.length === 1);
    const reading = panel();
    reading.kernels[2] = kernel('llm-eval.ipynb', { 'GPU-1': 9.5 }, 1);
    server.send(snapshot(reading));
    await until(() => text() === 'C9.5 GiB');
  });

  it('watches only while it can be seen', async () => {
    await until(() => server.sockets.length === 1);
    badge.hide();
    await until(() => server.sockets.length === 0);
    badge.show();
    await until(() => server.sockets.length === 1);
    badge.dispose();
    await until(() => server.sockets.length === 0);
  });

  it("opens its kernel's menu by Shift+F10 or the right button", () => {
    const event = new MouseEvent('contextmenu', {
      bubbles: true,
      cancelable: true
    });
    button().dispatchEvent(event);
    expect(event.defaultPrevented).toBe(true);
    const items = [...document.querySelectorAll('.lm-Menu .lm-Menu-item')];
    expect(
      items
        .filter(item => item.getAttribute('data-type') === 'command')
        .map(item => item.getAttribute('data-command'))
    ).toEqual([
      CommandIDs.free,
      CommandIDs.restore,
      CommandIDs.interrupt,
      CommandIDs.restart
    ]);
    document.querySelector('.lm-Menu')!.remove();
  });

  it('takes a name from outside for text, not for HTML', async () => {
    const reading = panel();
    reading.kernels[1].notebook = '<img src=x onerror=alert(1)>.ipynb';
    server.answers['GET snapshot'] = { body: snapshot(reading) };
    await model.refresh();
    session.become('train-resnet');
    expect(tip().querySelector('img')).toBeNull();
    expect(tip().textContent).toContain('<img src=x onerror=alert(1)>.ipynb');
  });

  it('shows its text to the pointer, and hides it at Escape', async () => {
    badge.node.dispatchEvent(new Event('pointerenter'));
    await until(() => 'shown' in tip().dataset);
    document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
    expect('shown' in tip().dataset).toBe(false);
  });

  it('hides its text when the pointer has left', async () => {
    badge.node.dispatchEvent(new Event('pointerenter'));
    await until(() => 'shown' in tip().dataset);
    badge.node.dispatchEvent(new Event('pointerleave'));
    await until(() => !('shown' in tip().dataset));
  });
});
