import type { IDisposable } from '@lumino/disposable';
import { DisposableDelegate } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import type { VramClient } from '../service/client';
import type {
  SnapshotStream,
  StreamMessage,
  StreamTrouble
} from '../service/stream';
import type {
  Config,
  Ended,
  Gpu,
  History,
  Kernel,
  Plan,
  Report,
  RunRequest,
  Snapshot
} from '../service/wire';
import type {
  ConnectionStatus,
  IKernelKey,
  IKernelNotice,
  IVramModel
} from '../tokens';
import { KernelKeys } from './keys';
import { Sparklines } from './sparklines';

/** Readings missed before the last one counts as stale. */
const MISSED = 3;

/** Seconds that a notice is kept. */
const NOTICE_SPAN = 3600;

/** Seconds after which a finished run is no news. */
const NEWS = 30;

/** Milliseconds between the last watch and rest: from one notebook to the next is no rest. */
const LINGER = 1000;

/** The reading, its history in this browser, and the doors to the server. */
export class VramModel implements IVramModel {
  /** Takes over the stream and disposes it. */
  constructor(options: { client: VramClient; stream: SnapshotStream }) {
    this._client = options.client;
    this._stream = options.stream;
    this._stream.message.connect(this._onMessage, this);
    this._stream.trouble.connect(this._onTrouble, this);
    document.addEventListener('visibilitychange', this._update);
  }

  get snapshot(): Snapshot | null {
    return this._snapshot;
  }

  get status(): ConnectionStatus {
    return this._isPaused && Private.READS.includes(this._link)
      ? 'paused'
      : this._link;
  }

  get receivedAt(): number | null {
    return this._receivedAt;
  }

  get config(): Config | null {
    return this._config;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get reported(): ISignal<this, Report> {
    return this._reported;
  }

  get isDisposed(): boolean {
    return this._stream.isDisposed;
  }

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    document.removeEventListener('visibilitychange', this._update);
    cancelAnimationFrame(this._frame);
    clearTimeout(this._overdue);
    this._stream.dispose();
    Signal.clearData(this);
  }

  keyOf(kernelId: string): IKernelKey | null {
    return this._keys.get(kernelId);
  }

  kernel(kernelId: string): Kernel | null {
    return (
      this._snapshot?.kernels.find(kernel => kernel.id === kernelId) ?? null
    );
  }

  gpu(uuid: string): Gpu | null {
    return this._snapshot?.gpus.find(gpu => gpu.uuid === uuid) ?? null;
  }

  notice(kernelId: string): IKernelNotice | null {
    const notice = this._notices.get(kernelId);
    return notice && notice.at > this._serverTime - NOTICE_SPAN ? notice : null;
  }

  running(kernelId: string): Report | null {
    return this._running.get(kernelId) ?? null;
  }

  lastPlan(kernelId: string): Plan | null {
    return this._plans.get(kernelId) ?? null;
  }

  sparkline(kernelId: string): ReadonlyArray<number | null> {
    return this._sparklines.get(kernelId);
  }

  watch(): IDisposable {
    this._watches++;
    this._update();
    return new DisposableDelegate(() => {
      this._watches--;
      setTimeout(this._update, LINGER);
    });
  }

  pause(): void {
    this._isPaused = true;
    this._update();
    this._emit();
  }

  resume(): void {
    this._isPaused = false;
    this._update();
    this._emit();
  }

  async refresh(): Promise<void> {
    if (this._link === 'reload') {
      // The server may be back at this page's version.
      this._link = this._snapshot ? 'live' : 'starting';
    }
    await Promise.all([this._stream.refresh(), this._readConfig()]);
    this._update();
  }

  async plan(kernelId: string): Promise<Plan> {
    const plan = await this._client.plan(kernelId);
    this._plans.set(kernelId, plan);
    this._emit();
    return plan;
  }

  async run(kernelId: string, request: RunRequest): Promise<Report> {
    const report = await this._client.run(kernelId, request);
    this._onReport(report);
    return report;
  }

  async cancel(kernelId: string): Promise<void> {
    this._onReport(await this._client.cancel(kernelId));
  }

  end(pid: number, startedAt: number): Promise<Ended> {
    return this._client.end({ pid, started_at: startedAt });
  }

  history(span: number, gpu?: string): Promise<History> {
    return this._client.history(span, gpu);
  }

  async configure(change: Partial<Config>): Promise<Config> {
    // The route takes a whole set; another browser may have changed it since.
    const current = await this._client.config();
    const config = await this._client.configure({ ...current, ...change });
    this._onConfig(config);
    return config;
  }

  /** Seconds since the epoch by the server's clock, as of the last reading. */
  private get _serverTime(): number {
    return this._snapshot?.taken_at ?? 0;
  }

  private _onMessage(_: SnapshotStream, message: StreamMessage): void {
    switch (message.type) {
      case 'snapshot':
        this._onSnapshot(message);
        break;
      case 'report':
        this._onReport(message);
        break;
      case 'config':
        this._onConfig(message.config);
        break;
    }
  }

  private _onReport(report: Report): void {
    // The run's own answer and the stream bring the same report, in any order.
    if (this._notices.get(report.kernel_id)?.report.run_id === report.run_id) {
      return;
    }
    if (report.finished) {
      this._notices.set(report.kernel_id, { report, at: report.at });
      if (this._running.get(report.kernel_id)?.run_id === report.run_id) {
        this._running.delete(report.kernel_id);
      }
      this._plans.delete(report.kernel_id);
    } else {
      this._running.set(report.kernel_id, report);
    }
    this._emit();
    // Who connects late is told of the last runs: what is long done is no news.
    if (!report.finished || report.at > this._serverTime - NEWS) {
      this._reported.emit(report);
    }
  }

  private _onSnapshot(snapshot: Snapshot): void {
    this._snapshot = snapshot;
    this._receivedAt = Private.now();
    this._link = 'live';
    if (snapshot.state === 'ok') {
      this._keys.see(snapshot);
      this._sparklines.see(snapshot);
    }
    const ids = new Set(snapshot.kernels.map(({ id }) => id));
    for (const kept of [this._running, this._plans]) {
      for (const id of kept.keys()) {
        if (!ids.has(id)) {
          kept.delete(id);
        }
      }
    }
    if (this._config === null) {
      void this._readConfig();
    }
    this._expect();
    this._emit();
  }

  private _onConfig(config: Config): void {
    this._config = config;
    this._stream.interval = config.interval;
    this._expect();
    this._emit();
  }

  private _onTrouble(_: SnapshotStream, trouble: StreamTrouble): void {
    if (trouble === 'reload') {
      this._link = 'reload';
    } else if (trouble.kind === 'missing' || trouble.kind === 'forbidden') {
      this._link = trouble.kind;
    } else {
      // Silence and broken answers show as a reading that is overdue.
      return;
    }
    clearTimeout(this._overdue);
    this._emit();
  }

  private async _readConfig(): Promise<void> {
    if (this._isReadingConfig) {
      return;
    }
    this._isReadingConfig = true;
    try {
      this._onConfig(await this._client.config());
    } catch {
      // The snapshot fails the same way and says so; the next one asks again.
    } finally {
      this._isReadingConfig = false;
    }
  }

  /** Be read to if somebody looks, else let the server sleep. */
  private readonly _update = (): void => {
    const wanted =
      this._watches > 0 &&
      !document.hidden &&
      !this._isPaused &&
      this._link !== 'reload' &&
      !this.isDisposed;
    if (wanted === this._stream.isActive) {
      return;
    }
    if (wanted) {
      this._stream.start();
      this._expect();
    } else {
      this._stream.stop();
      // What goes on is told again when the stream is back.
      this._running.clear();
      clearTimeout(this._overdue);
    }
  };

  /** The last reading becomes stale when the next ones stay away. */
  private _expect(): void {
    clearTimeout(this._overdue);
    if (!this._stream.isActive || !Private.READS.includes(this._link)) {
      return;
    }
    const interval = Math.max(this._config?.interval ?? 1, 1);
    this._overdue = setTimeout(
      () => {
        this._link = 'stale';
        this._emit();
      },
      (MISSED + 0.5) * interval * 1000
    );
  }

  /** At most once a frame; the browser gives hidden pages no frames. */
  private _emit(): void {
    if (this._frame === 0 && !this.isDisposed) {
      this._frame = requestAnimationFrame(() => {
        this._frame = 0;
        this._changed.emit();
      });
    }
  }

  private readonly _client: VramClient;
  private readonly _stream: SnapshotStream;
  private readonly _keys = new KernelKeys();
  private readonly _sparklines = new Sparklines();
  private readonly _notices = new Map<string, IKernelNotice>();
  private readonly _running = new Map<string, Report>();
  private readonly _plans = new Map<string, Plan>();
  private _snapshot: Snapshot | null = null;
  private _receivedAt: number | null = null;
  private _config: Config | null = null;
  private _link: Exclude<ConnectionStatus, 'paused'> = 'starting';
  private _isPaused = false;
  private _isReadingConfig = false;
  private _watches = 0;
  private _frame = 0;
  private _overdue: ReturnType<typeof setTimeout> | undefined;
  private readonly _changed = new Signal<this, void>(this);
  private readonly _reported = new Signal<this, Report>(this);
}

namespace Private {
  /** States in which readings arrive, or did until now. */
  export const READS: ReadonlyArray<ConnectionStatus> = [
    'starting',
    'live',
    'stale'
  ];

  export function now(): number {
    return Date.now() / 1000;
  }
}
