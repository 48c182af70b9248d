import type { JupyterFrontEnd } from '@jupyterlab/application';
import {
  nullTranslator,
  type TranslationBundle
} from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { DisposableDelegate, type IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { gib, panel, TAKEN_AT } from '../../__tests__/mockup';
import type { ILanguage } from '../../language';
import type {
  Config,
  Ended,
  Gpu,
  History,
  Kernel,
  Plan,
  Remedy,
  Report,
  RunRequest,
  Snapshot,
  Step
} from '../../service/wire';
import { SCHEMA } from '../../service/wire';
import type {
  ConnectionStatus,
  IKernelKey,
  IKernelNotice,
  IVramModel
} from '../../tokens';

export const trans: TranslationBundle = nullTranslator.load('jupyterlab_vram');

export const language: ILanguage = { trans, locale: 'en' };

/** The kernel of the drawings' plan. */
export const KERNEL = 'embeddings';

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
  announce(report: Report): void {
    this.reported.emit(report);
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

export function remedy(
  id: Remedy['id'],
  gain: number | null,
  change: Partial<Remedy> = {}
): Remedy {
  return {
    id,
    gain: gain === null ? null : gib(gain),
    gain_is: gain === null ? 'unknown' : 'exact',
    loses: 'Nothing is lost.',
    offered: true,
    why_not: null,
    default: false,
    ...change
  };
}

/** The plan of the drawings without park: 3.8 of 11.2 GiB return, nothing lost. */
export function plan(change: Partial<Plan> = {}): Plan {
  return {
    type: 'plan',
    version: '0.1.0',
    schema: SCHEMA,
    kernel_id: KERNEL,
    state: 'idle',
    measured_at: TAKEN_AT - 3,
    bytes: gib(11.2),
    gpus: { 'GPU-0': gib(11.2) },
    frameworks: {
      torch: {
        live: gib(6.9),
        cached: gib(3.8),
        context: gib(0.5),
        peak: null
      }
    },
    holders_in_kernel: [],
    remedies: [
      remedy('release-cache', 3.8, { default: true }),
      remedy('unpin-exceptions', 2.1, {
        loses: 'You lose %debug for the error in cell [18].'
      }),
      remedy('restart', 11.2, { loses: 'You lose every variable.' }),
      remedy('shutdown', 11.2, { loses: 'You lose every variable.' })
    ],
    remains: { bytes: gib(7.4), why: '6.9 GiB is in use by variables.' },
    text: null,
    ...change
  };
}

export function step(
  id: Step['id'],
  freed: number | null,
  change: Partial<Step> = {}
): Step {
  return {
    id,
    ok: true,
    freed: freed === null ? null : gib(freed),
    freed_by: freed === null ? null : 'driver',
    before: null,
    after: null,
    seconds: 0.1,
    text: null,
    ...change
  };
}

export function report(steps: Step[], change: Partial<Report> = {}): Report {
  return {
    type: 'report',
    version: '0.1.0',
    schema: SCHEMA,
    kernel_id: KERNEL,
    run_id: 'r1',
    finished: true,
    at: TAKEN_AT,
    steps,
    freed: steps[0].freed,
    expected: null,
    remains: { bytes: gib(7.4), why: null },
    survivors: [],
    ...change
  };
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
