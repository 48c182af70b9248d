import { Token } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
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
} from './service/wire';

/**
 * How this browser stands with the server part.
 *
 * - `starting`: no answer yet.
 * - `live`: readings arrive.
 * - `paused`: the user stopped them in this browser.
 * - `stale`: three readings were missed; the last one is kept.
 * - `missing`: the server part is not installed or not enabled (404).
 * - `forbidden`: this user may not read it (401, 403).
 * - `reload`: browser and server have different versions.
 */
export type ConnectionStatus =
  'starting' | 'live' | 'paused' | 'stale' | 'missing' | 'forbidden' | 'reload';

/**
 * The letter and colour that stand for a kernel everywhere; given at first sight of GPU memory,
 * kept until the kernel ends.
 */
export interface IKernelKey {
  /** `A` to `Z`, then `AA`, `AB`, … */
  readonly letter: string;
  /** Counts from 0; colour is `--vram-k{index % 8}`, texture `(index + floor(index / 8)) % 4`. */
  readonly index: number;
}

/**
 * Where a person stands after an out-of-memory error or a remedy: at most one notice a kernel.
 */
export interface IKernelNotice {
  /** A finished report of a remedy that ran on this kernel, from any client. */
  readonly report: Report;
  /** When the run ended, in seconds since the epoch by the server’s clock. */
  readonly at: number;
}

/**
 * The latest reading, its history in this browser, and the doors to the server.
 *
 * #### Notes
 * The only object that views share. It holds no DOM and asks the server only while somebody
 * watches (see `watch`).
 */
export interface IVramModel extends IDisposable {
  /** The latest reading; kept while `status` is `stale` or `paused`. */
  readonly snapshot: Snapshot | null;

  readonly status: ConnectionStatus;

  /** When the latest reading arrived here, in seconds since the epoch by this browser's clock. */
  readonly receivedAt: number | null;

  /** Server-side settings; null until they were read. */
  readonly config: Config | null;

  /** Reading, status, config or notices changed. Emitted at most once an animation frame. */
  readonly changed: ISignal<IVramModel, void>;

  /** Progress and results of remedies, whichever client asked for them. */
  readonly reported: ISignal<IVramModel, Report>;

  /** Letter and colour of a kernel that holds or held GPU memory, else null. */
  keyOf(kernelId: string): IKernelKey | null;

  /** The kernel in the latest reading. */
  kernel(kernelId: string): Kernel | null;

  /** The GPU in the latest reading. */
  gpu(uuid: string): Gpu | null;

  /** The last remedies that finished on a kernel, kept for an hour. */
  notice(kernelId: string): IKernelNotice | null;

  /** The run on a kernel that goes on or waits for it to be idle, whichever client asked. */
  running(kernelId: string): Report | null;

  /**
   * The plan that this browser last asked for, kept until something was run on the kernel or the
   * kernel is gone.
   */
  lastPlan(kernelId: string): Plan | null;

  /** The kernel's GPU bytes in the last ten minutes as seen by this browser, oldest first. */
  sparkline(kernelId: string): ReadonlyArray<number | null>;

  /**
   * Say that somebody looks. Readings are asked for while at least one watch is held and the
   * page is visible; the server sleeps otherwise.
   */
  watch(): IDisposable;

  pause(): void;
  resume(): void;

  /** Ask for a reading now, also while paused. */
  refresh(): Promise<void>;

  /** The plan for freeing one kernel's memory. Changes nothing in the kernel. */
  plan(kernelId: string): Promise<Plan>;

  /** Run remedies; resolves with the finished report, progress comes on `reported`. */
  run(kernelId: string, request: RunRequest): Promise<Report>;

  /** Cancel a run that waits, or stop one after the step under way. */
  cancel(kernelId: string): Promise<void>;

  /** End a process that `holders` names; the server checks that it still is the same one. */
  end(pid: number, startedAt: number): Promise<Ended>;

  /** The server's record of a GPU's or all GPUs' past. */
  history(span: number, gpu?: string): Promise<History>;

  /** Change server-side settings for every browser of this server. */
  configure(change: Partial<Config>): Promise<Config>;
}

/**
 * The model token. Views require it; a deployment can replace it.
 */
export const IVramModel = new Token<IVramModel>(
  'jupyterlab-vram:IVramModel',
  'Which notebook kernel holds how much GPU memory, and the doors to give it back.'
);

/** What commands are called; also used by other extensions. */
export namespace CommandIDs {
  /** Show or hide the panel. Args: `{kernelId?}` scrolls to that kernel. */
  export const open = 'vram:open';
  /** Open the plan of a kernel. Args: `{kernelId?}`, default the current notebook's. */
  export const free = 'vram:free';
  /** Open one plan for several kernels. Args: `{kernelIds}`. */
  export const freeSeveral = 'vram:free-several';
  /** Release cached blocks at once. Args: `{kernelId?}`. */
  export const releaseCache = 'vram:release-cache';
  /** Move a kernel's GPU memory to host RAM. Args: `{kernelId?}`. */
  export const park = 'vram:park';
  /** Bring a parked kernel's memory back. Args: `{kernelId?}`. */
  export const restore = 'vram:restore';
  /** Cancel what waits for a kernel to be idle, or stop what runs on it. Args: `{kernelId?}`. */
  export const cancel = 'vram:cancel';
  /** Restart a kernel after asking. Args: `{kernelId?}`. */
  export const restart = 'vram:restart';
  /** Shut a kernel down after asking. Args: `{kernelId?}`. */
  export const shutdown = 'vram:shutdown';
  /** Interrupt a kernel. Args: `{kernelId?}`. */
  export const interrupt = 'vram:interrupt';
  /** End a leftover process after asking. Args: `{processes: [{pid, startedAt}]}`. */
  export const end = 'vram:end';
  /** Open the kernel's notebook. Args: `{kernelId}`. */
  export const openNotebook = 'vram:open-notebook';
  /** Put what is known of a kernel or a problem on the clipboard. Args: `{kernelId?}`. */
  export const copyDetails = 'vram:copy-details';
  /** Stop or resume readings in this browser. */
  export const togglePause = 'vram:toggle-pause';
  /** Open the wide table in the main area. */
  export const openMain = 'vram:open-main';
  /** Turn the simulated GPU on or off for the whole server, after asking. */
  export const simulate = 'vram:simulate';
  /** Edit the thresholds and the interval. */
  export const thresholds = 'vram:thresholds';
}
