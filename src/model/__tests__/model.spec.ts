import { panel, TAKEN_AT } from '../../__tests__/mockup';
import { plan } from '../../__tests__/plans';
import { VramClient } from '../../service/client';
import { SnapshotStream } from '../../service/stream';
import {
  CONFIG,
  snapshot,
  TestServer,
  until
} from '../../service/__tests__/server';
import type { Report } from '../../service/wire';
import { VERSION } from '../../version';
import { VramModel } from '../model';

const REPORT: Report = {
  type: 'report',
  version: VERSION,
  schema: CONFIG.schema,
  kernel_id: 'embeddings',
  run_id: 'run-1',
  finished: true,
  waiting: false,
  at: TAKEN_AT,
  steps: [],
  freed: 5,
  expected: 5,
  remains: { bytes: null, why: null },
  survivors: []
};

describe('VramModel', () => {
  let server: TestServer;
  let model: VramModel;

  beforeEach(async () => {
    server = await TestServer.start();
    const client = new VramClient(server.settings);
    model = new VramModel({ client, stream: new SnapshotStream(client) });
  });

  afterEach(async () => {
    model.dispose();
    setHidden(false);
    await server.stop();
  });

  function setHidden(hidden: boolean): void {
    Object.defineProperty(document, 'hidden', {
      configurable: true,
      value: hidden
    });
    document.dispatchEvent(new Event('visibilitychange'));
  }

  const wait = (milliseconds: number) =>
    new Promise(resolve => setTimeout(resolve, milliseconds));

  it('asks nothing while nobody watches', async () => {
    await wait(100);
    expect(server.requests).toEqual([]);
    expect(model.status).toBe('starting');
    expect(model.snapshot).toBeNull();
  });

  it('reads while somebody watches, and lets go with the last watch', async () => {
    const first = model.watch();
    const second = model.watch();
    await until(() => server.sockets.length === 1);
    first.dispose();
    first.dispose();
    await wait(50);
    expect(server.sockets.length).toBe(1);
    second.dispose();
    await until(() => server.sockets.length === 0);
    expect(model.status).toBe('live');
    expect(model.snapshot?.gpus).toHaveLength(2);
  });

  it('finds kernels, GPUs, letters and settings', async () => {
    model.watch();
    await until(() => model.config !== null && model.snapshot !== null);
    expect(model.kernel('embeddings')?.notebook).toBe('embeddings.ipynb');
    expect(model.kernel('nobody')).toBeNull();
    expect(model.gpu('GPU-1')?.index).toBe(1);
    expect(model.gpu('GPU-9')).toBeNull();
    expect(model.keyOf('train-resnet')?.letter).toBe('A');
    expect(model.keyOf('embeddings')?.letter).toBe('B');
    expect(model.keyOf('notes')).toBeNull();
    expect(model.sparkline('embeddings')).toEqual([
      model.kernel('embeddings')?.bytes
    ]);
    expect(model.config).toEqual(CONFIG);
    expect(model.receivedAt).toBeCloseTo(Date.now() / 1000, -1);
  });

  it('lets the server sleep while the page is hidden', async () => {
    model.watch();
    await until(() => server.sockets.length === 1);
    setHidden(true);
    await until(() => server.sockets.length === 0);
    const before = server.requests.length;
    await wait(150);
    expect(server.requests.length).toBe(before);
    setHidden(false);
    await until(() => server.sockets.length === 1);
  });

  it('pauses, refreshes while paused, and resumes', async () => {
    model.watch();
    await until(() => server.sockets.length === 1);
    model.pause();
    await until(() => server.sockets.length === 0);
    expect(model.status).toBe('paused');
    server.answers['GET snapshot'] = { body: snapshot({ taken_at: 77 }) };
    await model.refresh();
    expect(model.snapshot?.taken_at).toBe(77);
    expect(model.status).toBe('paused');
    expect(server.sockets.length).toBe(0);
    model.resume();
    await until(() => server.sockets.length === 1);
    expect(model.status).toBe('live');
  });

  it('emits once a frame, however much arrives', async () => {
    model.watch();
    await until(() => server.sockets.length === 1 && model.config !== null);
    await wait(50);
    let changes = 0;
    let readings = 0;
    model.changed.connect(() => changes++);
    model['_stream'].message.connect(() => readings++);
    for (let index = 0; index < 50; index++) {
      server.send(snapshot());
    }
    await until(() => readings === 50);
    await wait(50);
    expect(changes).toBeGreaterThan(0);
    expect(changes).toBeLessThan(25);
  });

  it('is stale after three missed readings, keeps the last, and recovers', async () => {
    model.watch();
    await until(() => model.status === 'live' && server.sockets.length === 1);
    const started = Date.now();
    await until(() => model.status === 'stale');
    expect(Date.now() - started).toBeGreaterThan(2500);
    expect(model.snapshot?.kernels).toHaveLength(panel().kernels.length);
    server.send(snapshot());
    await until(() => model.status === 'live');
  });

  it('is not stale without being watched', async () => {
    const watch = model.watch();
    await until(() => model.status === 'live');
    watch.dispose();
    await wait(4000);
    expect(model.status).toBe('live');
  });

  it.each([
    [404, '<html></html>', 'missing'],
    [403, { message: 'No.', reason: null }, 'forbidden']
  ])('knows a %d', async (status, body, expected) => {
    server.answers['GET snapshot'] = { status, body };
    model.watch();
    await until(() => model.status === expected);
  });

  it('asks for a reload at another version, and looks again when told', async () => {
    server.answers['GET snapshot'] = { body: snapshot({ version: '99.0.0' }) };
    model.watch();
    await until(() => model.status === 'reload');
    expect(model.snapshot).toBeNull();
    server.answers['GET snapshot'] = { body: snapshot() };
    await model.refresh();
    expect(model.status).toBe('live');
    await until(() => server.sockets.length === 1);
  });

  it('reports a run once, though two ways bring it', async () => {
    const seen: Report[] = [];
    model.reported.connect((_, report) => seen.push(report));
    server.answers['POST kernels/embeddings/remedies'] = { body: REPORT };
    model.watch();
    await until(() => server.sockets.length === 1);
    server.send({ ...REPORT, finished: false });
    await until(() => seen.length === 1);
    expect(model.notice('embeddings')).toBeNull();
    await expect(
      model.run('embeddings', { remedies: [{ id: 'collect' }] })
    ).resolves.toEqual(REPORT);
    server.send(REPORT);
    await wait(100);
    expect(seen.map(report => report.finished)).toEqual([false, true]);
    expect(model.notice('embeddings')?.report).toEqual(REPORT);
    expect(model.notice('train-resnet')).toBeNull();
  });

  describe('what goes on in a kernel', () => {
    const begun = { ...REPORT, finished: false, waiting: true };

    beforeEach(async () => {
      server.answers['GET snapshot'] = { body: snapshot() };
      model.watch();
      await until(() => server.sockets.length === 1);
    });

    it('is known until it ends, and can be cancelled', async () => {
      server.send(begun);
      await until(() => model.running('embeddings') !== null);
      expect(model.running('embeddings')).toEqual(begun);
      server.answers['DELETE kernels/embeddings/remedies'] = { body: REPORT };
      await model.cancel('embeddings');
      expect(model.running('embeddings')).toBeNull();
      expect(model.notice('embeddings')?.report).toEqual(REPORT);
    });

    it('outlives another run that ends', async () => {
      server.send(begun);
      await until(() => model.running('embeddings') !== null);
      server.send({ ...REPORT, run_id: 'run-2' });
      await until(() => model.notice('embeddings') !== null);
      expect(model.running('embeddings')).toEqual(begun);
    });

    it('is gone with the kernel', async () => {
      server.send(begun);
      await until(() => model.running('embeddings') !== null);
      server.send(snapshot({ ...panel(), kernels: [] }));
      await until(() => model.running('embeddings') === null);
    });

    it('keeps the last plan until something was run', async () => {
      const asked = plan();
      server.answers['GET kernels/embeddings/plan'] = { body: asked };
      expect(model.lastPlan('embeddings')).toBeNull();
      await model.plan('embeddings');
      expect(model.lastPlan('embeddings')).toEqual(asked);
      server.send(REPORT);
      await until(() => model.lastPlan('embeddings') === null);
    });

    it('tells what is long done without calling it news', async () => {
      const seen: Report[] = [];
      model.reported.connect((_, report) => seen.push(report));
      server.send({ ...REPORT, at: TAKEN_AT - 600 });
      await until(() => model.notice('embeddings') !== null);
      expect(seen).toEqual([]);
      server.send({ ...REPORT, run_id: 'old', at: TAKEN_AT - 7200 });
      await until(() => model.notice('embeddings') === null);
    });
  });

  it('changes one setting and keeps those that another browser changed', async () => {
    const theirs = { ...CONFIG, source: 'simulated' };
    server.answers['GET config'] = { body: theirs };
    server.answers['PUT config'] = { body: { ...theirs, interval: 5 } };
    await model.configure({ interval: 5 });
    const sent = server.bodies[server.requests.indexOf('PUT config')];
    expect(JSON.parse(sent)).toEqual({ ...theirs, interval: 5 });
    expect(model.config?.interval).toBe(5);
  });

  it('takes settings that another browser changed from the stream', async () => {
    model.watch();
    await until(() => server.sockets.length === 1);
    server.send({
      type: 'config',
      version: VERSION,
      schema: CONFIG.schema,
      config: { ...CONFIG, interval: 3 }
    });
    await until(() => model.config?.interval === 3);
  });
});
