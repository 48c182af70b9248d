import type { TranslationBundle } from '@jupyterlab/translation';
import { formatBytes } from '../format';
import type { ILanguage } from '../language';
import type { Report, Step, Survivor } from '../service/wire';
import { fellShort, type IAmount } from './amounts';

/** How a finished run ended, worst first. */
export type Outcome = 'failed' | 'survivors' | 'stopped' | 'short' | 'done';

/** Whether a step was begun. One that was left out has no time; its text says why. */
export function wasRun({ seconds }: Step): boolean {
  return seconds !== null;
}

export function outcomeOf(report: Report, expected: IAmount): Outcome {
  if (report.steps.some(step => step.ok === false && wasRun(step))) {
    return 'failed';
  }
  if (report.survivors.length > 0) {
    return 'survivors';
  }
  if (!report.steps.every(wasRun)) {
    return 'stopped';
  }
  return fellShort(report.freed, expected) ? 'short' : 'done';
}

export function outcomeTitle(
  trans: TranslationBundle,
  outcome: Outcome
): string {
  switch (outcome) {
    case 'failed':
      return trans.__('Not every step worked');
    case 'survivors':
      return trans.__('Some processes kept their memory');
    case 'stopped':
      return trans.__('Stopped before the last step');
    case 'short':
      return trans.__('Less was freed than expected');
    case 'done':
      return trans.__('Done');
  }
}

/** Whether the kernel's process is the one from before. */
export function processEnded(report: Report): boolean {
  return report.steps.some(
    step =>
      (step.id === 'restart' || step.id === 'shutdown') && step.ok === true
  );
}

/** Why less came back, in the words of the steps where they know. */
export function shortText(
  { trans, locale }: ILanguage,
  report: Report,
  expected: IAmount
): string {
  const told = report.steps.flatMap(({ text }) => (text ? [text] : []));
  if (told.length > 0) {
    return told.join(' ');
  }
  const missing =
    expected.bytes === null || report.freed === null
      ? null
      : expected.bytes - report.freed;
  return trans.__(
    'Something still refers to %1 that could not be found from Python: often a compiled model, a captured graph or a background thread.',
    formatBytes(missing, { locale })
  );
}

/** The arguments of the command that ends survivors; those without a start time can't be ended. */
export function endable(
  survivors: readonly Survivor[]
): { pid: number; startedAt: number }[] {
  return survivors.flatMap(({ pid, started_at }) =>
    started_at === null ? [] : [{ pid, startedAt: started_at }]
  );
}
