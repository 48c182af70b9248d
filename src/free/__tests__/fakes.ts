import type { JupyterFrontEnd } from '@jupyterlab/application';
import {
  nullTranslator,
  type TranslationBundle
} from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { DisposableDelegate, type IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { panel } from '../../__tests__/mockup';
import { KERNEL } from '../../__tests__/plans';
import type { ILanguage } from '../../language';
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
} from '../../service/wire';
import type {
  ConnectionStatus,
  IKernelKey,
  IKernelNotice,
  IVramModel
} from '../../tokens';

export const trans: TranslationBundle = nullTranslator.load('jupyterlab_vram');

export const language: ILanguage = { trans, locale: 'en' };

/** The model interface over a drawing's reading; a test says what the server would answer. */
export class FakeModel implements IVramModel {
  snapshot: Snapshot | null = panel();
  status: ConnectionStatus = 'live';
  receivedAt: number | null = Date.now() / 1000;
  config: Config | null = null;
  readonly changed = new Signal<this, void>(this);
  readonly reported = new Signal<this, Report>(this);
  readonly isDisposed = false;
  watches = 0;
  requests: RunRequest[] = [];
  plans: (() => Promise<Plan>)[] = [];
  onRun: (request: RunRequest, kernelId: string) => Promise<Report> = () =>
    Promise.reject(new Error('no run expected'));
  cancelled: string[] = [];
  onCancel: () => Promise<void> = async () => undefined;
  onEnd: (pid: number) => Promise<Ended> = () =>
    Promise.reject(new Error('no end expected'));
  onRefresh: () => void = () => undefined;

  plan(): Promise<Plan> {
    const next = this.plans.shift();
    return next ? next() : Promise.reject(new Error('no plan expected'));
  }
  run(kernelId: string, request: RunRequest): Promise<Report> {
    this.requests.push(request);
    return this.onRun(request, kernelId);
  }
  /** A run that goes on, of whoever started it. */
  goesOn: Report | null = null;
  running(): Report | null {
    return this.goesOn;
  }
  lastPlan(): Plan | null {
    return null;
  }
  canRunAgain(): boolean {
    return false;
  }
  cancel(kernelId: string): Promise<void> {
    this.cancelled.push(kernelId);
    return this.onCancel();
  }
  end(pid: number): Promise<Ended> {
    return this.onEnd(pid);
  }
  async refresh(): Promise<void> {
    this.onRefresh();
  }
  keyOf(kernelId: string): IKernelKey | null {
    return kernelId === KERNEL ? { letter: 'B', index: 1 } : null;
  }
  kernel(kernelId: string): Kernel | null {
    return this.snapshot?.kernels.find(({ id }) => id === kernelId) ?? null;
  }
  gpu(uuid: string): Gpu | null {
    return this.snapshot?.gpus.find(gpu => gpu.uuid === uuid) ?? null;
  }
  watch(): IDisposable {
    this.watches++;
    return new DisposableDelegate(() => {
      this.watches--;
    });
  }
  notice(): IKernelNotice | null {
    return null;
  }
  sparkline(): number[] {
    return [];
  }
  pause(): void {
    this.status = 'paused';
  }
  resume(): void {
    this.status = 'live';
  }
  history(): Promise<History> {
    return Promise.reject(new Error('no history expected'));
  }
  configure(): Promise<Config> {
    return Promise.reject(new Error('no change expected'));
  }
  dispose(): void {
    Signal.clearData(this);
  }
}

/** What the actions need of an application; `documents` are in the main area. */
export function fakeApp(
  documents: object[] = [],
  refreshed: string[] = []
): JupyterFrontEnd {
  const manager = (name: string) => ({
    refreshRunning: async () => {
      refreshed.push(name);
    }
  });
  return {
    name: 'JupyterLab',
    version: '4.6.6',
    commands: new CommandRegistry(),
    shell: { widgets: () => documents.values(), activateById: () => undefined },
    serviceManager: {
      kernels: manager('kernels'),
      sessions: manager('sessions')
    }
  } as unknown as JupyterFrontEnd;
}

/** Wait until something holds; fails with what was waited for. */
export async function until(what: string, holds: () => unknown): Promise<void> {
  const deadline = Date.now() + 2000;
  while (!holds()) {
    if (Date.now() > deadline) {
      throw new Error(`Not seen: ${what}\n${document.body.textContent}`);
    }
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}
