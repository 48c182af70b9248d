import type { IDisposable } from '@lumino/disposable';
import { Signal, type ISignal } from '@lumino/signaling';
import type { ILanguage } from '../language';
import { sumOfAll } from '../sums';
import { addAmounts, UNKNOWN_AMOUNT, type IAmount } from './amounts';
import { lossOf } from './planmodel';
import { outcomeOf, type Outcome } from './resultmodel';
import { stepsOf, totalOf, type IPlanStep } from './selection';
import type { FreeSession, IResult } from './session';
import { planSentence } from './words';

/** What a batch runs in one kernel. */
export interface IOffer {
  readonly steps: readonly IPlanStep[];
  readonly amount: IAmount;
  /** What the kernel holds; null = not known. */
  readonly held: number | null;
}

/**
 * Several kernels freed with one click: each has its own plan, of which only what loses nothing is
 * run, one kernel after another. A kernel that fails doesn't stop the next.
 */
export class FreeBatch implements IDisposable {
  /** @param sessions - One for each kernel; the batch disposes them. */
  constructor(
    readonly sessions: readonly FreeSession[],
    readonly language: ILanguage
  ) {
    for (const session of sessions) {
      session.changed.connect(this._emit, this);
    }
  }

  /** `loading` until every kernel has answered or failed to. */
  get phase(): 'loading' | 'plan' | 'running' | 'result' {
    if (this._started !== null) {
      return this._isRunning ? 'running' : 'result';
    }
    return this.sessions.some(({ phase }) => phase.kind === 'loading')
      ? 'loading'
      : 'plan';
  }

  get changed(): ISignal<FreeBatch, void> {
    return this._changed;
  }

  /** The last kernel is done. */
  get finished(): ISignal<FreeBatch, void> {
    return this._finished;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    for (const session of this.sessions) {
      session.dispose();
    }
    Signal.clearData(this);
  }

  async load(): Promise<void> {
    await Promise.all(this.sessions.map(session => session.load()));
  }

  /** What the click runs: kernels that offer something and were not left out. */
  get ticked(): ReadonlyMap<FreeSession, IOffer> {
    const ticked = new Map<FreeSession, IOffer>();
    for (const session of this.sessions) {
      const offer = offerOf(session);
      if (offer && !this._leftOut.has(session)) {
        ticked.set(session, offer);
      }
    }
    return ticked;
  }

  /** What the last click runs or ran; null before it. */
  get started(): ReadonlyMap<FreeSession, IOffer> | null {
    return this._started;
  }

  /** Leave a kernel out, or take it in again. */
  toggle(session: FreeSession): void {
    if (!this._leftOut.delete(session)) {
      this._leftOut.add(session);
    }
    this._emit();
  }

  /** Run what is ticked; never rejects, failures stay with their kernel. */
  async run(): Promise<void> {
    if (this.phase !== 'plan' || this.ticked.size === 0) {
      return;
    }
    this._started = this.ticked;
    this._isRunning = true;
    this._emit();
    for (const session of this._started.keys()) {
      await session.run();
    }
    this._isRunning = false;
    this._emit();
    this._finished.emit();
  }

  private _emit(): void {
    this._changed.emit();
  }

  private _started: ReadonlyMap<FreeSession, IOffer> | null = null;
  private _isRunning = false;
  private _isDisposed = false;
  private _leftOut = new Set<FreeSession>();
  private _changed = new Signal<this, void>(this);
  private _finished = new Signal<this, void>(this);
}

/** What a kernel's plan offers without any loss; null where it offers nothing. */
export function offerOf({ phase }: FreeSession): IOffer | null {
  if (phase.kind !== 'plan') {
    return null;
  }
  const steps = stepsOf(phase.plan, phase.selection);
  return steps.length === 0
    ? null
    : {
        steps,
        amount: totalOf(phase.plan, steps),
        held: phase.plan.bytes
      };
}

/** Why a kernel offers nothing. */
export function whyNothing({ phase, language }: FreeSession): string {
  const { trans } = language;
  const nothing = trans.__('Nothing can be freed here without losing work.');
  switch (phase.kind) {
    case 'failed':
      return phase.text;
    case 'gone':
      return phase.text ?? trans.__('This kernel has ended.');
    case 'busy':
    case 'plan': {
      const { plan } = phase;
      const refused = plan.remedies.find(
        remedy => lossOf(remedy.id) === 'nothing' && remedy.why_not !== null
      );
      return planSentence(trans, plan) ?? refused?.why_not ?? nothing;
    }
    case 'running':
      return trans.__('Its memory is being freed already.');
    default:
      return nothing;
  }
}

/** All of some kernels' offers together. */
export function together(offers: Iterable<IOffer>): IOffer {
  const all = [...offers];
  return {
    steps: all.flatMap(({ steps }) => steps),
    amount: addAmounts(all.map(({ amount }) => amount)),
    held: sumOfAll(all.map(({ held }) => held))
  };
}

/** What came of a batch. */
export interface IBatchResult {
  /** The worst of the kernels' outcomes. */
  readonly outcome: Outcome;
  readonly failed: number;
  readonly freed: IAmount;
}

export function batchResult(sessions: Iterable<FreeSession>): IBatchResult {
  const all = [...sessions].map(resultOf);
  const outcomes = all.map(result =>
    result === null ? 'failed' : outcomeOf(result.report, result.expected)
  );
  return {
    outcome:
      (['failed', 'survivors', 'stopped', 'short'] as const).find(outcome =>
        outcomes.includes(outcome)
      ) ?? 'done',
    failed: outcomes.filter(outcome => outcome === 'failed').length,
    freed: addAmounts(
      all.map(result => {
        const bytes = result?.report.freed ?? null;
        return bytes === null ? UNKNOWN_AMOUNT : { bytes, is: 'exact' };
      })
    )
  };
}

/** A kernel's finished run; null while there is none, and where it failed. */
export function resultOf({ phase }: FreeSession): IResult | null {
  return phase.kind === 'result' ? phase.result : null;
}
