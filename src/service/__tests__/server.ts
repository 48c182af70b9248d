import { ServerConnection } from '@jupyterlab/services';
import type { IncomingMessage, Server } from 'http';
import { createServer } from 'http';
import type { AddressInfo, Socket } from 'net';
import { panel } from '../../__tests__/mockup';
import { VramModel } from '../../model/model';
import { VERSION } from '../../version';
import { VramClient } from '../client';
import { SnapshotStream } from '../stream';
import type { Config, Snapshot } from '../wire';
import { SCHEMA } from '../wire';

interface IServerSocket {
  send(text: string): void;
  terminate(): void;
}

interface ISocketServer {
  clients: Set<IServerSocket>;
  handleUpgrade(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    done: (socket: IServerSocket) => void
  ): void;
}

// A dependency of @jupyterlab/services that has no types.
const { WebSocketServer } = jest.requireActual('ws') as {
  WebSocketServer: new (options: { noServer: true }) => ISocketServer;
};

/** A reading of this version. */
export function snapshot(change: Partial<Snapshot> = {}): Snapshot {
  return { ...panel(), version: VERSION, schema: SCHEMA, ...change };
}

export const CONFIG: Config = {
  version: VERSION,
  schema: SCHEMA,
  interval: 0.25,
  source: 'auto',
  thresholds: { high: 0.9, hot: 80, long_idle: 3600, hint: 0.1 },
  park_ticked: false,
  ask_kernels: true
};

interface IAnswer {
  status?: number;
  body: unknown;
}

/** A real HTTP and WebSocket server that says what the test wants said. */
export class TestServer {
  static async start(): Promise<TestServer> {
    const server = new TestServer();
    await new Promise<void>(resolve =>
      server._http.listen(0, '127.0.0.1', resolve)
    );
    return server;
  }

  /** `METHOD path` below the server's root to its answer; anything else is Jupyter's 404 page. */
  readonly answers: Record<string, IAnswer> = {
    'GET snapshot': { body: snapshot() },
    'GET config': { body: CONFIG }
  };

  /** Requests so far: `METHOD path`, and their bodies. */
  readonly requests: string[] = [];
  readonly bodies: string[] = [];

  /** Where a proxy lets no WebSocket through. */
  refusesSockets = false;

  get sockets(): IServerSocket[] {
    return [...this._sockets.clients];
  }

  get settings(): ServerConnection.ISettings {
    const { port } = this._http.address() as AddressInfo;
    return ServerConnection.makeSettings({
      baseUrl: `http://127.0.0.1:${port}/user/ann/`,
      wsUrl: `ws://127.0.0.1:${port}/user/ann/`,
      token: 'secret',
      appendToken: true,
      WebSocket: window.WebSocket
    });
  }

  send(message: unknown): void {
    for (const socket of this.sockets) {
      socket.send(JSON.stringify(message));
    }
  }

  count(request: string): number {
    return this.requests.filter(line => line === request).length;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) {
      socket.terminate();
    }
    this._http.closeAllConnections();
    await new Promise(resolve => this._http.close(resolve));
  }

  private constructor() {
    this._http = createServer((request, response) => {
      let body = '';
      request.on('data', part => (body += part));
      request.on('end', () => {
        const line = this._line(request);
        this.requests.push(line);
        this.bodies.push(body);
        const cors = {
          'Access-Control-Allow-Origin': request.headers.origin ?? '*',
          'Access-Control-Allow-Credentials': 'true',
          'Access-Control-Allow-Headers': 'authorization, content-type',
          'Access-Control-Allow-Methods': 'GET, POST, PUT, DELETE'
        };
        const answer = this.answers[line] ?? {
          status: 404,
          body: '<html>404 : Not Found</html>'
        };
        response.writeHead(answer.status ?? 200, cors);
        response.end(
          typeof answer.body === 'string'
            ? answer.body
            : JSON.stringify(answer.body)
        );
      });
    });
    this._http.on('upgrade', (request, socket: Socket, head) => {
      this.requests.push(this._line(request));
      if (this.refusesSockets) {
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      } else {
        this._sockets.handleUpgrade(request, socket, head, client =>
          client.send(JSON.stringify(this.answers['GET snapshot'].body))
        );
      }
    });
  }

  private _line(request: IncomingMessage): string {
    const path = (request.url ?? '')
      .replace('/user/ann/jupyterlab-vram/', '')
      // What core adds against caches.
      .replace(/[?&]\d{13}$/, '');
    return `${request.method} ${path}`;
  }

  private readonly _http: Server;
  private readonly _sockets = new WebSocketServer({ noServer: true });
}

/** Wait until something holds; fails by the test's own time limit. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) {
    await new Promise(resolve => setTimeout(resolve, 10));
  }
}

/** A model that has read what the server says; not watching. */
export async function readModel(server: TestServer): Promise<VramModel> {
  const client = new VramClient(server.settings);
  const model = new VramModel({ client, stream: new SnapshotStream(client) });
  await model.refresh();
  return model;
}
