import { nullTranslator } from '@jupyterlab/translation';
import { StatusBar } from '@jupyterlab/statusbar';
import { CommandRegistry } from '@lumino/commands';
import { Widget } from '@lumino/widgets';
import {
  fleet,
  gpu,
  noGpu,
  panel,
  simulated,
  slices
} from '../../__tests__/mockup';
import { VramModel } from '../../model/model';
import { VramClient } from '../../service/client';
import {
  readModel,
  snapshot,
  TestServer,
  until
} from '../../service/__tests__/server';
import { SnapshotStream } from '../../service/stream';
import type { Snapshot } from '../../service/wire';
import { CommandIDs } from '../../tokens';
import { statusState } from '../state';
import { VramStatus } from '../widget';

const trans = nullTranslator.load('jupyterlab_vram');

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

describe('statusState', () => {
  let server: TestServer;
  let model: VramModel;

  beforeEach(async () => {
    server = await TestServer.start();
  });

  afterEach(async () => {
    model.dispose();
    await server.stop();
  });

  async function read(reading: Partial<Snapshot>): Promise<void> {
    server.answers['GET snapshot'] = { body: snapshot(reading) };
    model = await readModel(server);
  }

  const state = (kernelId: string | null = null) =>
    statusState(model, kernelId, trans, 'en');

  const texts = (kernelId: string | null = null) =>
    state(kernelId)?.parts.map(part =>
      plain([part.icon, part.name, part.text].filter(Boolean).join(' '))
    );

  it('shows what is free on every GPU', async () => {
    await read(panel());
    expect(texts()).toEqual(['warn GPU 0 1.4 GiB free', 'GPU 1 10.0 GiB free']);
    expect(state()?.parts[0]).toMatchObject({ high: true });
    expect(state()?.parts[1]).toMatchObject({ high: false });
    expect(state()?.parts[1].share).toBeCloseTo(14 / 24);
  });

  it("shows the current notebook's GPUs only", async () => {
    await read(panel());
    expect(texts('llm-eval')).toEqual(['GPU 1 10.0 GiB free']);
    expect(texts('notes')).toHaveLength(2);
    expect(plain(state('llm-eval')!.title)).toBe(
      'GPU 0: 22.6 of 24.0 GiB used, 1.4 GiB free\n' +
        'GPU 1: 14.0 of 24.0 GiB used, 10.0 GiB free'
    );
  });

  it('sums up more than three GPUs', async () => {
    const reading = fleet();
    await read(reading);
    expect(reading.gpus.length).toBeGreaterThan(3);
    const parts = texts()!;
    expect(parts).toHaveLength(1);
    expect(parts[0]).toMatch(
      /^warn \d GPUs \d nearly full · most free: GPU \d, \d+\.\d GiB$/
    );
    expect(state()!.title.split('\n')).toHaveLength(reading.gpus.length);
  });

  it('counts slices, not the card that they are cut from', async () => {
    await read(slices());
    expect(state()!.title).toContain('slice');
    expect(state()!.title.split('\n')).toHaveLength(
      slices().gpus.filter(slice => slice.parent !== null).length +
        slices().gpus.filter(
          card =>
            card.parent === null &&
            !slices().gpus.some(slice => slice.parent === card.uuid)
        ).length
    );
  });

  it('says — where the size is hidden', async () => {
    const hidden = gpu(0, 24, 0);
    hidden.memory = { ...hidden.memory, total: null, used: null, free: null };
    await read({ gpus: [hidden] });
    expect(texts()).toEqual(['GPU 0 — GiB']);
    expect(state()?.parts[0].share).toBeNull();
  });

  it('says that the GPU is simulated', async () => {
    await read(simulated());
    expect(state()?.simulated).toBe(true);
    expect(state()?.label).toContain('Simulated: this is no real GPU.');
  });

  it('says paused', async () => {
    await read(panel());
    model.pause();
    expect(texts()).toEqual(['GPU 0, GPU 1 · paused']);
  });

  it('says when the readings stopped', async () => {
    await read(panel());
    const watch = model.watch();
    await until(() => server.sockets.length === 1);
    await until(() => model.status === 'stale');
    expect(texts()![0]).toMatch(
      /^unplugged GPU 0, GPU 1 · stopped at \d\d:\d\d:\d\d$/
    );
    watch.dispose();
  });

  it('is nothing without a GPU', async () => {
    await read(noGpu());
    expect(state()).toBeNull();
  });
});

describe('VramStatus', () => {
  let server: TestServer;
  let model: VramModel;
  let item: VramStatus;
  let bar: StatusBar;
  let ran: string[];

  beforeEach(async () => {
    server = await TestServer.start();
  });

  afterEach(async () => {
    bar.dispose();
    item.dispose();
    model.dispose();
    await server.stop();
  });

  function start(): void {
    const client = new VramClient(server.settings);
    model = new VramModel({ client, stream: new SnapshotStream(client) });
    ran = [];
    const commands = new CommandRegistry();
    commands.addCommand(CommandIDs.open, {
      execute: () => void ran.push(CommandIDs.open)
    });
    item = new VramStatus({
      model,
      commands,
      tracker: null,
      trans: trans,
      locale: 'en'
    });
    bar = new StatusBar();
    Widget.attach(bar, document.body);
    bar.registerStatusItem('vram', {
      item,
      align: 'left',
      isActive: () => item.isActive,
      activeStateChanged: item.activeStateChanged
    });
  }

  it('shows itself once there is a GPU, and is a button', async () => {
    start();
    expect(item.isVisible).toBe(false);
    await until(() => item.isVisible);
    expect(item.node.tagName).toBe('BUTTON');
    expect(plain(item.node.textContent!)).toBe(
      'GPU 01.4 GiB freeGPU 110.0 GiB free'
    );
    expect(plain(item.node.getAttribute('aria-label')!)).toBe(
      'GPU memory. GPU 0: 1.4 GiB free. GPU 1: 10.0 GiB free.'
    );
    item.node.click();
    expect(ran).toEqual([CommandIDs.open]);
  });

  it('stays away without a GPU, and lets the server sleep', async () => {
    server.answers['GET snapshot'] = { body: snapshot(noGpu()) };
    start();
    await until(() => model.snapshot !== null);
    await until(() => server.sockets.length === 0 && !item.isVisible);
    await new Promise(resolve => setTimeout(resolve, 2500));
    const before = server.requests.length;
    await new Promise(resolve => setTimeout(resolve, 1500));
    expect(server.requests.length).toBe(before);
  });

  it('watches while it is visible', async () => {
    start();
    await until(() => server.sockets.length === 1 && item.isVisible);
    bar.hide();
    await until(() => server.sockets.length === 0);
    bar.show();
    await until(() => server.sockets.length === 1);
  });
});
