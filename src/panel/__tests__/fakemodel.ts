import { DisposableDelegate } from '@lumino/disposable';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { gib, TAKEN_AT } from '../../__tests__/mockup';
import { SCHEMA } from '../../service/wire';
import type {
  Config,
  Ended,
  Gpu,
  History,
  Kernel,
  Plan,
  Report,
  Snapshot
} from '../../service/wire';
import type {
  ConnectionStatus,
  IKernelKey,
  IKernelNotice,
  IVramModel
} from '../../tokens';

/** A model without a server: a test sets what the server would have said. */
export class FakeModel implements IVramModel {
  constructor(snapshot: Snapshot | null) {
    this.snapshot = snapshot;
    this.name(snapshot);
  }

  snapshot: Snapshot | null;
  status: ConnectionStatus = 'live';
  receivedAt: number | null = TAKEN_AT;
  config: Config | null = {
    version: '0.1.0',
    schema: SCHEMA,
    interval: 1,
    source: 'auto',
    thresholds: { high: 0.9, hot: 80, long_idle: 3600, hint: 0.1 },
    park_ticked: false,
    ask_kernels: true
  };
  isDisposed = false;
  /** What goes on or waits, by kernel. */
  readonly runs = new Map<string, Report>();
  /** What was planned, by kernel. */
  readonly plans = new Map<string, Plan>();
  readonly changed: Signal<IVramModel, void> = new Signal<IVramModel, void>(
    this
  );
  readonly reported: Signal<IVramModel, Report> = new Signal<
    IVramModel,
    Report
  >(this);

  /** How many views hold a watch. */
  watches = 0;
  /** What was asked of the server, in order. */
  readonly calls: string[] = [];

  /** A new reading arrives. */
  receive(snapshot: Snapshot | null, status: ConnectionStatus = 'live'): void {
    this.snapshot = snapshot;
    this.status = status;
    this.name(snapshot);
    this.changed.emit();
  }

  keyOf(kernelId: string): IKernelKey | null {
    return this._keys.get(kernelId) ?? null;
  }

  kernel(kernelId: string): Kernel | null {
    return this.snapshot?.kernels.find(({ id }) => id === kernelId) ?? null;
  }

  gpu(uuid: string): Gpu | null {
    return this.snapshot?.gpus.find(gpu => gpu.uuid === uuid) ?? null;
  }

  notice(): IKernelNotice | null {
    return null;
  }

  running(kernelId: string): Report | null {
    return this.runs.get(kernelId) ?? null;
  }

  lastPlan(kernelId: string): Plan | null {
    return this.plans.get(kernelId) ?? null;
  }

  sparkline(kernelId: string): readonly (number | null)[] {
    const bytes = this.kernel(kernelId)?.bytes ?? null;
    return bytes === null
      ? []
      : [0, 0.4, 0.7, 1, 1, 1, 1, 1, 1, 1].map(share => share * bytes);
  }

  watch(): IDisposable {
    this.watches++;
    return new DisposableDelegate(() => this.watches--);
  }

  pause(): void {
    this.receive(this.snapshot, 'paused');
  }

  resume(): void {
    this.receive(this.snapshot, 'live');
  }

  async refresh(): Promise<void> {
    this.calls.push('refresh');
  }

  plan(): Promise<Plan> {
    return Promise.reject(new Error('The panel makes no plans.'));
  }

  run(): Promise<Report> {
    return Promise.reject(new Error('The panel runs nothing.'));
  }

  cancel(): Promise<void> {
    return Promise.reject(new Error('The panel cancels nothing.'));
  }

  end(): Promise<Ended> {
    return Promise.reject(new Error('The panel ends nothing.'));
  }

  /** Ramps up to the present sizes in the first quarter, then stays. */
  async history(span: number, gpu?: string): Promise<History> {
    this.calls.push(`history ${span} ${gpu}`);
    const { snapshot } = this;
    const count = 61;
    const ramp = (bytes: number): number[] =>
      Array.from({ length: count }, (_, i) =>
        Math.round(bytes * Math.min(1, (i * 4) / count))
      );
    return {
      version: '0.1.0',
      schema: SCHEMA,
      step: span / (count - 1),
      from: TAKEN_AT - span,
      gpus: Object.fromEntries(
        (snapshot?.gpus ?? []).map(({ uuid, memory }) => [
          uuid,
          {
            used: ramp(memory.used ?? 0),
            utilization: ramp(1).map((share, i) => share * (0.9 + (i % 5) / 50))
          }
        ])
      ),
      kernels: Object.fromEntries(
        (snapshot?.kernels ?? []).map(({ id, gpus }) => [
          id,
          Object.fromEntries(
            Object.entries(gpus).map(([uuid, bytes]) => [
              uuid,
              ramp(bytes ?? gib(0))
            ])
          )
        ])
      )
    };
  }

  async configure(change: Partial<Config>): Promise<Config> {
    this.calls.push(`configure ${JSON.stringify(change)}`);
    this.config = { ...this.config!, ...change };
    this.changed.emit();
    return this.config;
  }

  dispose(): void {
    this.isDisposed = true;
    Signal.clearData(this);
  }

  /** Letters in the order that kernels are first seen with GPU memory. */
  private name(snapshot: Snapshot | null): void {
    for (const { id, bytes } of snapshot?.kernels ?? []) {
      if (bytes !== 0 && !this._keys.has(id)) {
        const index = this._keys.size;
        const last = String.fromCharCode(65 + (index % 26));
        this._keys.set(id, {
          index,
          letter: index < 26 ? last : `A${last}`
        });
      }
    }
  }

  private readonly _keys = new Map<string, IKernelKey>();
}
