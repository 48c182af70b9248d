import { ServerConnection } from '@jupyterlab/services';
import { VramClient, VramRequestError } from '../client';
import { CONFIG, snapshot, TestServer } from './server';

describe('VramClient', () => {
  let server: TestServer;
  let client: VramClient;

  beforeEach(async () => {
    server = await TestServer.start();
    client = new VramClient(server.settings);
  });

  afterEach(() => server.stop());

  async function failure(): Promise<VramRequestError> {
    const error = await client.snapshot().catch(reason => reason);
    expect(error).toBeInstanceOf(VramRequestError);
    return error;
  }

  it('reads below the base URL', async () => {
    await expect(client.snapshot()).resolves.toEqual(snapshot());
  });

  it('escapes what it puts into a path and a query', async () => {
    await client.plan('a/../b?c').catch(() => undefined);
    await client.history(600, 'GPU-1&x').catch(() => undefined);
    expect(server.requests).toEqual([
      'GET kernels/a%2F..%2Fb%3Fc/plan',
      'GET history?span=600&gpu=GPU-1%26x'
    ]);
  });

  it('sends bodies', async () => {
    server.answers['PUT config'] = { body: CONFIG };
    server.answers['POST holders/end'] = { body: { ended: true } };
    server.answers['POST kernels/k/remedies'] = { body: { run_id: 'r' } };
    await client.configure(CONFIG);
    await client.end({ pid: 7, started_at: 1.5 });
    await client.run('k', { remedies: [{ id: 'collect' }], when: 'now' });
    expect(server.bodies.filter(Boolean).map(body => JSON.parse(body))).toEqual(
      [
        CONFIG,
        { pid: 7, started_at: 1.5 },
        { remedies: [{ id: 'collect' }], when: 'now' }
      ]
    );
  });

  it('takes a 404 without our words for a missing server part', async () => {
    delete server.answers['GET snapshot'];
    expect((await failure()).kind).toBe('missing');
  });

  it("keeps the server's sentence", async () => {
    server.answers['GET snapshot'] = {
      status: 404,
      body: { message: 'No kernel k runs here.', reason: 'It has ended.' }
    };
    expect(await failure()).toMatchObject({
      kind: 'refused',
      message: 'No kernel k runs here.',
      reason: 'It has ended.'
    });
  });

  it.each([
    [401, 'forbidden'],
    [403, 'forbidden'],
    [409, 'refused'],
    [500, 'failed']
  ])('says what a %d is', async (status, kind) => {
    server.answers['GET snapshot'] = {
      status,
      body: { message: 'A sentence.', reason: null }
    };
    expect(await failure()).toMatchObject({ kind, message: 'A sentence.' });
  });

  it("does not show a proxy's page as a sentence", async () => {
    server.answers['GET snapshot'] = { status: 502, body: '<h1>Bad</h1>' };
    expect(await failure()).toMatchObject({
      kind: 'failed',
      message: '502 Bad Gateway'
    });
  });

  it('does not take a login page for an answer', async () => {
    server.answers['GET snapshot'] = { body: '<form></form>' };
    expect((await failure()).kind).toBe('failed');
  });

  it('says that nobody answers', async () => {
    const { settings } = server;
    await server.stop();
    client = new VramClient(ServerConnection.makeSettings(settings));
    expect((await failure()).kind).toBe('unreachable');
    server = await TestServer.start();
  });
});
