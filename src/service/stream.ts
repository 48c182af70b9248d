import { URLExt } from '@jupyterlab/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { Poll } from '@lumino/polling';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import { VERSION } from '../version';
import type { VramClient, VramRequestError } from './client';
import { ROOT } from './client';
import type { ConfigChanged, Report, Snapshot } from './wire';
import { SCHEMA } from './wire';

/** What the server sends on its stream. */
export type StreamMessage = Snapshot | Report | ConfigChanged;

/**
 * Something that keeps readings from arriving: a request failed, or `reload`, when the server
 * speaks another version. No more messages come after `reload` until `start` is called.
 */
export type StreamTrouble = VramRequestError | 'reload';

/** The longest wait before the next try, in milliseconds. */
const MOST_PATIENCE = 30_000;

/** A socket that was silent for so many intervals is given up, also if it looks open. */
const SILENT_INTERVALS = 10;

/**
 * Readings as they are taken: by WebSocket, and by asking again and again where no socket is to be
 * had (a proxy that refuses it) or until it is back.
 *
 * #### Notes
 * A refused WebSocket tells a page nothing, so the first answer always comes by REST: it says
 * whether the server part is there and whether this user may read. The socket follows.
 */
export class SnapshotStream implements IDisposable {
  constructor(client: VramClient) {
    this._client = client;
    this._asking = new Poll({
      auto: false,
      factory: () => this._ask(),
      frequency: { interval: 1000, backoff: true, max: MOST_PATIENCE },
      name: 'jupyterlab-vram:snapshot',
      standby: 'never'
    });
    this._listening = new Poll({
      auto: false,
      factory: () => this._listen(),
      frequency: { interval: 1000, backoff: true, max: MOST_PATIENCE },
      name: 'jupyterlab-vram:stream',
      standby: 'never'
    });
  }

  get message(): ISignal<this, StreamMessage> {
    return this._message;
  }

  get trouble(): ISignal<this, StreamTrouble> {
    return this._trouble;
  }

  /** Whether readings are wanted. */
  get isActive(): boolean {
    return this._isActive;
  }

  /** Seconds between two readings by REST; the server sets the pace of the socket. */
  set interval(seconds: number) {
    if (this._interval !== seconds) {
      this._interval = seconds;
      this._asking.frequency = {
        ...this._asking.frequency,
        interval: seconds * 1000,
        max: Math.max(seconds * 1000, MOST_PATIENCE)
      };
    }
  }

  get isDisposed(): boolean {
    return this._asking.isDisposed;
  }

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    this.stop();
    this._asking.dispose();
    this._listening.dispose();
    Signal.clearData(this);
  }

  start(): void {
    if (!this._isActive && !this.isDisposed) {
      this._isActive = true;
      void this._asking.start();
    }
  }

  stop(): void {
    this._isActive = false;
    void this._asking.stop();
    void this._listening.stop();
    this._closeSocket();
  }

  /** Ask for one reading now, whether active or not. Never rejects: see `trouble`. */
  async refresh(): Promise<void> {
    try {
      this._receive(await this._client.snapshot());
    } catch (error) {
      this._trouble.emit(error as VramRequestError);
    }
  }

  private async _ask(): Promise<void> {
    try {
      const snapshot = await this._client.snapshot();
      if (!this._isActive) {
        return;
      }
      this._receive(snapshot);
    } catch (error) {
      // `VramClient` throws nothing else. No socket where REST fails: it would fail unheard.
      void this._listening.stop();
      if (this._isActive) {
        this._trouble.emit(error as VramRequestError);
      }
      throw error;
    }
    if (this._isActive) {
      void this._listening.start();
    }
  }

  /** Never resolves; rejects when the socket is gone, so that the poll tries again. */
  private _listen(): Promise<void> {
    return new Promise((_, reject) => {
      const { appendToken, token, WebSocket, wsUrl } =
        this._client.serverSettings;
      let url = URLExt.join(wsUrl, ROOT, 'stream');
      if (appendToken && token !== '') {
        url += `?token=${encodeURIComponent(token)}`;
      }
      this._closeSocket();
      const socket = new WebSocket(url);
      this._socket = socket;
      const lost = () => {
        if (this._socket === socket) {
          this._closeSocket();
          if (this._isActive) {
            void this._asking.start();
          }
        }
        reject(new Error('The stream of readings was closed.'));
      };
      socket.onclose = lost;
      socket.onmessage = event => {
        const message = JSON.parse(event.data as string) as StreamMessage;
        clearTimeout(this._silence);
        this._silence = setTimeout(
          lost,
          Math.max(SILENT_INTERVALS * this._interval, SILENT_INTERVALS) * 1000
        );
        void this._asking.stop();
        this._receive(message);
      };
    });
  }

  private _receive(message: StreamMessage): void {
    if (message.version !== VERSION || message.schema !== SCHEMA) {
      this.stop();
      this._trouble.emit('reload');
      return;
    }
    this._message.emit(message);
  }

  private _closeSocket(): void {
    clearTimeout(this._silence);
    const socket = this._socket;
    if (socket) {
      this._socket = null;
      socket.onmessage = null;
      socket.onclose = null;
      socket.close();
    }
  }

  private readonly _client: VramClient;
  private readonly _asking: Poll;
  private readonly _listening: Poll;
  private _socket: WebSocket | null = null;
  private _silence: ReturnType<typeof setTimeout> | undefined;
  private _interval = 1;
  private _isActive = false;
  private readonly _message = new Signal<this, StreamMessage>(this);
  private readonly _trouble = new Signal<this, StreamTrouble>(this);
}
