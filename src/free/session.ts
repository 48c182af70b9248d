import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';
import type { Plan, Report, RunRequest } from '../service/wire';
import type { ILanguage } from '../language';
import type { IVramModel } from '../tokens';
import { UNKNOWN_AMOUNT, type IAmount } from './amounts';
import { busyChoices, type IBusyChoice } from './busymodel';
import { failureText } from './failure';
import { requestFor } from './planmodel';
import type { IKernelRunner } from './runner';
import {
  initialSelection,
  plainStep,
  stepsOf,
  toggle,
  totalOf,
  type IPlanStep,
  type ISelection,
  type RemedyId
} from './selection';
import { kernelTitle } from './subject';

/** What the dialog shows. */
export type Phase =
  | { readonly kind: 'loading' }
  /** `text` is the server's sentence. `running`: it came from a run, not from the plan. */
  | {
      readonly kind: 'failed';
      readonly text: string;
      readonly running: boolean;
    }
  | {
      readonly kind: 'plan';
      readonly plan: Plan;
      readonly selection: ISelection;
    }
  | { readonly kind: 'busy'; readonly plan: Plan; readonly choice: IBusyChoice }
  | { readonly kind: 'gone'; readonly text: string | null }
  | {
      readonly kind: 'running';
      readonly plan: Plan;
      readonly steps: readonly IPlanStep[];
      /** Somebody else's run, or one of an earlier dialog: this one only shows it. */
      readonly followed: boolean;
      /** The steps begin when the kernel becomes idle. */
      readonly waits: boolean;
      /** The latest progress, null before the first. */
      readonly report: Report | null;
      /** Null until it was asked to stop; then why it can't, or an empty text. */
      readonly stopping: string | null;
    }
  | { readonly kind: 'result'; readonly result: IResult };

/** A finished run beside what was known before it. */
export interface IResult {
  readonly report: Report;
  readonly expected: IAmount;
  /** The plan that was run; `plan.bytes` is what the kernel held before. */
  readonly plan: Plan;
  /** Free bytes of each of the kernel's GPUs before the run, by uuid. */
  readonly freeBefore: FreeBefore;
}

type FreeBefore = Readonly<Record<string, number | null>>;

/**
 * One opening of the dialog: asks for the plan, keeps the ticks, runs, keeps the result.
 *
 * #### Notes
 * Outlives its dialog while a run goes on: closing the dialog stops nothing. `finished` is then
 * emitted with nobody looking, which is what the toast is for.
 */
export class FreeSession implements IDisposable {
  constructor(
    readonly model: IVramModel,
    readonly kernelId: string,
    readonly language: ILanguage,
    private _runner: IKernelRunner
  ) {
    this.name = kernelTitle(model, kernelId, language.trans);
    this._watch = model.watch();
    model.reported.connect(this._onReported, this);
    model.changed.connect(this._onChanged, this);
  }

  /** Kept from the opening: the kernel may be gone from the reading afterwards. */
  readonly name: string;

  get phase(): Phase {
    return this._phase;
  }

  get changed(): ISignal<FreeSession, void> {
    return this._changed;
  }

  /** A run ended: with a report, or with the sentence of why there is none. */
  get finished(): ISignal<FreeSession, IResult | string> {
    return this._finished;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._watch.dispose();
    Signal.clearData(this);
  }

  /** Ask for the plan, also again; shows a run instead where one goes on. */
  async load(): Promise<void> {
    this._set({ kind: 'loading' });
    this._process = this._processNow;
    let plan: Plan;
    try {
      plan = await this.model.plan(this.kernelId);
    } catch (error) {
      this._set({
        kind: 'failed',
        text: failureText(this.language.trans, error),
        running: false
      });
      return;
    }
    const report = this.model.running(this.kernelId);
    if (report !== null) {
      this._follow(plan, report);
      return;
    }
    switch (plan.state) {
      case 'gone':
        // A kernel that died keeps its notebook, and can be restarted.
        this._set(
          plan.remedies.some(remedy => remedy.offered)
            ? { kind: 'plan', plan, selection: initialSelection(plan) }
            : { kind: 'gone', text: plan.text }
        );
        break;
      case 'busy': {
        const [choice] = busyChoices(plan);
        this._set(
          choice
            ? { kind: 'busy', plan, choice }
            : { kind: 'plan', plan, selection: initialSelection(plan) }
        );
        break;
      }
      default:
        this._set({ kind: 'plan', plan, selection: initialSelection(plan) });
    }
  }

  tick(id: RemedyId): void {
    if (this._phase.kind === 'plan') {
      const { plan, selection } = this._phase;
      this._set({ ...this._phase, selection: toggle(plan, selection, id) });
    }
  }

  /** Choose inside a step of the plan. */
  select(change: Partial<ISelection>): void {
    if (this._phase.kind === 'plan') {
      const { selection } = this._phase;
      this._set({ ...this._phase, selection: { ...selection, ...change } });
    }
  }

  /** Whether the notebook is open here, so that its cells can be run again after a restart. */
  get canRunAgain(): boolean {
    return this._runner.canRunAgain(this.kernelId);
  }

  choose(choice: IBusyChoice): void {
    if (this._phase.kind === 'busy') {
      this._set({ ...this._phase, choice });
    }
  }

  /** Run what is ticked or chosen; never rejects, failures become a phase. */
  async run(): Promise<void> {
    const phase = this._phase;
    if (phase.kind === 'plan') {
      const { plan, selection } = phase;
      const steps = stepsOf(plan, selection);
      await this._run(plan, steps, requestFor(steps), selection.runAgain);
    } else if (phase.kind === 'busy') {
      const { steps, when } = phase.choice;
      await this._run(phase.plan, steps, requestFor(steps, when), false);
    }
  }

  /** Give up waiting, or leave out the steps that have not begun; what is done stays done. */
  async stop(): Promise<void> {
    const stopping = (text: string): void => {
      if (this._phase.kind === 'running') {
        this._set({ ...this._phase, stopping: text });
      }
    };
    stopping('');
    try {
      await this.model.cancel(this.kernelId);
    } catch (error) {
      stopping(failureText(this.language.trans, error));
    }
  }

  private async _run(
    plan: Plan,
    steps: readonly IPlanStep[],
    request: RunRequest,
    runAgain: boolean
  ): Promise<void> {
    const freeBefore = this._freeOf(plan);
    this._set({
      kind: 'running',
      plan,
      steps,
      followed: false,
      waits: request.when === 'idle',
      report: null,
      stopping: null
    });
    let report: Report;
    try {
      report = await this._runner.run(this.kernelId, request, runAgain);
    } catch (error) {
      const text = failureText(this.language.trans, error);
      this._set({ kind: 'failed', text, running: true });
      this._finished.emit(text);
      return;
    }
    this._finish(plan, steps, report, freeBefore);
  }

  private _finish(
    plan: Plan,
    steps: readonly IPlanStep[],
    report: Report,
    freeBefore: FreeBefore
  ): void {
    const result: IResult = {
      report,
      expected: totalOf(
        plan,
        steps.filter(({ id }) => id !== 'interrupt')
      ),
      plan,
      freeBefore
    };
    this._set({ kind: 'result', result });
    this._finished.emit(result);
  }

  /** Show a run that goes on: until it ends, the server takes no other one. */
  private _follow(plan: Plan, report: Report): void {
    this._followedFrom = this._freeOf(plan);
    this._set({
      kind: 'running',
      plan,
      steps: report.steps.map(({ id }) => {
        const remedy = plan.remedies.find(remedy => remedy.id === id);
        return remedy
          ? plainStep(remedy)
          : { id, amount: UNKNOWN_AMOUNT, request: { id } };
      }),
      followed: true,
      waits: report.waiting,
      report,
      stopping: null
    });
  }

  /** What is free on the kernel's GPUs now, by uuid. */
  private _freeOf(plan: Plan): FreeBefore {
    return Object.fromEntries(
      Object.keys(plan.gpus).map(uuid => [
        uuid,
        this.model.gpu(uuid)?.memory.free ?? null
      ])
    );
  }

  private _onReported(model: IVramModel, report: Report): void {
    const phase = this._phase;
    if (
      phase.kind !== 'running' ||
      report.kernel_id !== this.kernelId ||
      (phase.report !== null && phase.report.run_id !== report.run_id) ||
      !sameSteps(report, phase.steps)
    ) {
      // Another client's run: the panel shows that one.
      return;
    }
    if (phase.followed && report.finished) {
      this._finish(phase.plan, phase.steps, report, this._followedFrom);
      return;
    }
    this._set({ ...phase, report });
  }

  /** A plan is of one process: plan anew once the kernel has another one, or none. */
  private _onChanged(): void {
    const { kind } = this._phase;
    if (
      (kind === 'plan' || kind === 'busy') &&
      this.model.snapshot?.state === 'ok' &&
      this._process !== undefined &&
      this._process !== this._processNow
    ) {
      void this.load();
    }
  }

  private get _processNow(): number | undefined {
    return this.model.kernel(this.kernelId)?.pids[0];
  }

  private _set(phase: Phase): void {
    if (this._isDisposed) {
      return;
    }
    this._phase = phase;
    this._changed.emit();
  }

  private _phase: Phase = { kind: 'loading' };
  private _followedFrom: FreeBefore = {};
  /** The kernel's process when the plan was asked for; undefined where it isn't known. */
  private _process: number | undefined;
  private _isDisposed = false;
  private _watch: IDisposable;
  private _changed = new Signal<this, void>(this);
  private _finished = new Signal<this, IResult | string>(this);
}

/** Whether a report is of these steps; the server has an order of its own. */
function sameSteps(report: Report, steps: readonly IPlanStep[]): boolean {
  const ids = new Set<string>(steps.map(({ id }) => id));
  return (
    report.steps.length === ids.size &&
    report.steps.every(({ id }) => ids.has(id))
  );
}
