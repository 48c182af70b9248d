import type { Report } from '../service/wire';
import type { IPlanStep } from './selection';

/** A run that goes on. */
export interface IRunning {
  readonly steps: readonly IPlanStep[];
  /** The steps begin when the kernel becomes idle. */
  readonly waits: boolean;
  /** The latest progress, null before the first. */
  readonly report: Report | null;
  /** Null until it was asked to stop. */
  readonly stopping: string | null;
}

/** Whether the cell that the steps wait for still runs. */
export function isWaiting({
  waits,
  report
}: Pick<IRunning, 'waits' | 'report'>): boolean {
  return report === null ? waits : report.waiting;
}

/** The index of the step at work, from 0; the number of steps once all are done. */
export function currentStep({
  steps,
  report
}: Pick<IRunning, 'steps' | 'report'>): number {
  const open = report?.steps.findIndex(({ ok }) => ok === null) ?? 0;
  return open === -1 ? steps.length : open;
}

/** Whether there is anything left to leave out; asked for once. */
export function canStop(running: IRunning): boolean {
  return (
    running.stopping === null &&
    (isWaiting(running) ||
      (running.report !== null &&
        currentStep(running) < running.steps.length - 1))
  );
}

/** The run's steps in the order in which the server takes them. */
export function orderedSteps({
  steps,
  report
}: Pick<IRunning, 'steps' | 'report'>): readonly IPlanStep[] {
  return (
    report?.steps.flatMap(
      ({ id }) => steps.find(step => step.id === id) ?? []
    ) ?? steps
  );
}
