/** Readings of our own in place of the server's, for computers that this one is not. */
import { expect } from '@jupyterlab/galata';
import type { Page, Route, WebSocketRoute } from '@playwright/test';
import type { History, Plan, Report, Snapshot } from '../../src/service/wire';

/** How often the stream repeats the reading, in milliseconds. */
const BEAT = 500;

/** What the server's doors answer. Has to be there before the page is opened. */
export class Readings {
  /** What `GET plan` answers. */
  plan: Plan | null = null;
  /** What `POST remedies` answers. */
  report: Report | null = null;
  /** The kernels whose run was stopped. */
  readonly stopped: string[] = [];
  /** What `GET history` answers. */
  history: History | null = null;

  private constructor(private _reading: Snapshot) {}

  /** Take over the server's snapshot, stream, plan, remedies and history. */
  static async serve(page: Page, reading: Snapshot): Promise<Readings> {
    const readings = new Readings(reading);
    await page.routeWebSocket(/\/jupyterlab-vram\/stream/, socket =>
      readings._accept(socket)
    );
    await page.route(/\/jupyterlab-vram\/snapshot/, route =>
      readings._answer(route, readings._reading)
    );
    await page.route(/\/jupyterlab-vram\/kernels\/[^/]+\/plan/, route =>
      readings._answer(route, readings.plan)
    );
    await page.route(/\/jupyterlab-vram\/kernels\/[^/]+\/remedies/, route =>
      readings._answerRun(route)
    );
    await page.route(/\/jupyterlab-vram\/history/, route =>
      readings._answer(route, readings.history)
    );
    const beat = setInterval(() => readings.send(readings._reading), BEAT);
    page.once('close', () => clearInterval(beat));
    return readings;
  }

  /** Keep the next run waiting for its report. */
  holdReport(): { end: (report: Report) => void } {
    let end = (_: Report): void => undefined;
    this._held = new Promise(resolve => (end = resolve));
    return { end };
  }

  /** Send a message on the stream. */
  send(message: object): void {
    for (const socket of this._sockets) {
      socket.send(JSON.stringify(message));
    }
  }

  /** Send another reading. */
  show(reading: Snapshot): void {
    this._reading = reading;
    this._trouble = null;
    this.send(reading);
  }

  /** Answer with an HTTP status that is not in the server part's words, and close the stream. */
  refuse(status: number): void {
    this._trouble = status;
    this._hangUp();
  }

  /** Answer nothing any more, as a server that was stopped. */
  silence(): void {
    this._trouble = 'silent';
    this._hangUp();
  }

  private _accept(socket: WebSocketRoute): void {
    if (this._trouble !== null) {
      void socket.close();
      return;
    }
    this._sockets.add(socket);
    socket.onClose(() => this._sockets.delete(socket));
    socket.send(JSON.stringify(this._reading));
  }

  private _hangUp(): void {
    for (const socket of this._sockets) {
      void socket.close();
    }
    this._sockets.clear();
  }

  private async _answerRun(route: Route): Promise<void> {
    if (route.request().method() === 'DELETE') {
      this.stopped.push(route.request().url().split('/').at(-2)!);
      await this._answer(route, this.report);
      return;
    }
    const held = this._held;
    this._held = null;
    await this._answer(route, held === null ? this.report : await held);
  }

  private async _answer(route: Route, body: object | null): Promise<void> {
    if (this._trouble === 'silent') {
      await route.abort('connectionrefused');
    } else if (this._trouble !== null) {
      await route.fulfill({ status: this._trouble, body: '<html></html>' });
    } else {
      expect(body, `an answer to ${route.request().url()}`).not.toBeNull();
      await route.fulfill({ json: body });
    }
  }

  private _trouble: number | 'silent' | null = null;
  private _held: Promise<Report> | null = null;
  private readonly _sockets = new Set<WebSocketRoute>();
}

/** The same reading, in which one kernel is a real one of the server under test. */
export function withKernel(
  reading: Snapshot,
  from: string,
  kernelId: string
): Snapshot {
  return {
    ...reading,
    kernels: reading.kernels.map(kernel =>
      kernel.id === from ? { ...kernel, id: kernelId } : kernel
    ),
    holders: reading.holders.map(holder =>
      holder.kernel_id === from ? { ...holder, kernel_id: kernelId } : holder
    )
  };
}
