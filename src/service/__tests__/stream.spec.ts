import type { VramRequestError } from '../client';
import { VramClient } from '../client';
import type { StreamMessage, StreamTrouble } from '../stream';
import { SnapshotStream } from '../stream';
import { snapshot, TestServer, until } from './server';

describe('SnapshotStream', () => {
  let server: TestServer;
  let stream: SnapshotStream;
  let messages: StreamMessage[];
  let troubles: StreamTrouble[];

  beforeEach(async () => {
    server = await TestServer.start();
    stream = new SnapshotStream(new VramClient(server.settings));
    stream.interval = 0.05;
    messages = [];
    troubles = [];
    stream.message.connect((_, message) => messages.push(message));
    stream.trouble.connect((_, trouble) => troubles.push(trouble));
  });

  afterEach(async () => {
    stream.dispose();
    await server.stop();
  });

  const asked = () => server.count('GET snapshot');

  it('asks nothing until it is started', async () => {
    await new Promise(resolve => setTimeout(resolve, 100));
    expect(server.requests).toEqual([]);
  });

  it('starts by REST, then listens and asks no more', async () => {
    stream.start();
    await until(() => messages.length === 2);
    expect(server.requests.slice(0, 2)).toEqual([
      'GET snapshot',
      'GET stream?token=secret'
    ]);
    await new Promise(resolve => setTimeout(resolve, 200));
    expect(asked()).toBe(1);
    server.send(snapshot({ taken_at: 7 }));
    await until(() => messages.length === 3);
    expect(messages[2]).toMatchObject({ type: 'snapshot', taken_at: 7 });
  });

  it('asks again and again where no socket is to be had', async () => {
    server.refusesSockets = true;
    stream.start();
    await until(() => messages.length >= 5);
    expect(asked()).toBeGreaterThanOrEqual(5);
    expect(troubles).toEqual([]);
  });

  it('comes back to the socket', async () => {
    server.refusesSockets = true;
    stream.start();
    await until(() => asked() >= 3);
    server.refusesSockets = false;
    await until(() => server.sockets.length === 1);
    await new Promise(resolve => setTimeout(resolve, 100));
    const before = asked();
    await new Promise(resolve => setTimeout(resolve, 200));
    expect(asked()).toBe(before);
  });

  it('asks while a lost socket is away, and connects anew', async () => {
    stream.start();
    await until(() => server.sockets.length === 1 && messages.length === 2);
    server.sockets[0].terminate();
    await until(() => asked() >= 2);
    await until(() => server.sockets.length === 1);
    const before = messages.length;
    server.send(snapshot());
    await until(() => messages.length > before);
  });

  it('lets go of the server when it is stopped', async () => {
    stream.start();
    await until(() => server.sockets.length === 1 && messages.length === 2);
    stream.stop();
    await until(() => server.sockets.length === 0);
    const before = server.requests.length;
    await new Promise(resolve => setTimeout(resolve, 200));
    expect(server.requests.length).toBe(before);
  });

  it.each([{ version: '99.0.0' }, { schema: 99 }])(
    'stops at another version: %p',
    async change => {
      server.answers['GET snapshot'] = { body: snapshot(change) };
      stream.start();
      await until(() => troubles.length === 1);
      expect(troubles).toEqual(['reload']);
      expect(messages).toEqual([]);
      await new Promise(resolve => setTimeout(resolve, 200));
      expect(asked()).toBe(1);
      expect(stream.isActive).toBe(false);
    }
  );

  it('notices another version behind the socket after an upgrade', async () => {
    stream.start();
    await until(() => messages.length === 2);
    server.send(snapshot({ version: '99.0.0' }));
    await until(() => troubles.length === 1);
    expect(troubles).toEqual(['reload']);
    await until(() => server.sockets.length === 0);
  });

  it('says why it fails, tries again, and opens no socket meanwhile', async () => {
    const good = server.answers['GET snapshot'];
    delete server.answers['GET snapshot'];
    stream.start();
    await until(() => troubles.length === 2);
    expect((troubles[0] as VramRequestError).kind).toBe('missing');
    expect(server.count('GET stream?token=secret')).toBe(0);
    server.answers['GET snapshot'] = good;
    await until(() => messages.length > 0);
  });

  it('refreshes without being started', async () => {
    await stream.refresh();
    expect(messages).toHaveLength(1);
    expect(server.requests).toEqual(['GET snapshot']);
  });
});
