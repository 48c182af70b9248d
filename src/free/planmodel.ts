import type { TranslationBundle } from '@jupyterlab/translation';
import { formatBytes } from '../format';
import type { ILanguage } from '../language';
import type { Plan, Remedy, RunRequest } from '../service/wire';
import { amountText, type IAmount } from './amounts';
import {
  coveredBy,
  isWorthShowing,
  type IPlanStep,
  type ISelection,
  type RemedyId
} from './selection';
import { lossWord } from './words';

/** What a remedy costs: the group it stands in. */
export type Loss = 'nothing' | 'history' | 'work';

export const LOSSES: readonly Loss[] = ['nothing', 'history', 'work'];

export function lossOf(id: RemedyId): Loss {
  switch (id) {
    case 'collect':
    case 'release-cache':
    case 'park':
    case 'restore':
      return 'nothing';
    case 'unpin-exceptions':
    case 'unpin-outputs':
      return 'history';
    default:
      return 'work';
  }
}

/**
 * The steps of a plan that are shown: what is offered, and what can't be done with its reason.
 * Interrupting and bringing parked memory back are no steps that free memory.
 */
export function shownRemedies(plan: Plan, loss: Loss): Remedy[] {
  const told = notOffered(plan).flatMap(({ ids }) => ids);
  return plan.remedies.filter(
    remedy =>
      !told.includes(remedy.id) &&
      lossOf(remedy.id) === loss &&
      remedy.id !== 'interrupt' &&
      remedy.id !== 'restore' &&
      isWorthShowing(plan, remedy) &&
      (remedy.offered || remedy.why_not !== null)
  );
}

/** From so many steps on a common reason stands once, below the others. */
const COMMON = 3;

/** Steps that can't be done, all for one reason. */
export interface INotOffered {
  readonly ids: readonly RemedyId[];
  readonly why: string;
}

/** What several steps can't be done for; their own lines would only repeat it. */
export function notOffered(plan: Plan): INotOffered[] {
  const reasons = new Map<string, RemedyId[]>();
  for (const { id, offered, why_not } of plan.remedies) {
    if (!offered && why_not !== null) {
      reasons.set(why_not, [...(reasons.get(why_not) ?? []), id]);
    }
  }
  return [...reasons]
    .filter(([, ids]) => ids.length >= COMMON)
    .map(([why, ids]) => ({ why, ids }));
}

/** The worst group among the steps that will run. */
export function worstLoss(steps: readonly IPlanStep[]): Loss {
  const losses = steps.map(({ id }) => lossOf(id));
  return losses.includes('work')
    ? 'work'
    : losses.includes('history')
      ? 'history'
      : 'nothing';
}

/** @throws RangeError if nothing is to be run; the button is off then. */
export function requestFor(
  steps: readonly IPlanStep[],
  when: 'now' | 'idle' = 'now'
): RunRequest {
  if (steps.length === 0) {
    throw new RangeError('No step is ticked');
  }
  // The generated type spells out every length from 1 to 20.
  return {
    remedies: steps.map(({ request }) => request) as RunRequest['remedies'],
    when
  };
}

/** The label of the button that runs the ticked steps. */
export function buttonText(
  { trans, locale }: ILanguage,
  steps: readonly IPlanStep[],
  amount: IAmount
): string {
  const last = steps[steps.length - 1]?.id;
  const size = formatBytes(amount.bytes, { locale });
  if (last === 'restart') {
    return amount.bytes === null
      ? trans.__('Restart')
      : amount.is === 'at-most'
        ? trans.__('Restart and free up to %1', size)
        : trans.__('Restart and free %1', size);
  }
  if (last === 'shutdown') {
    return amount.bytes === null
      ? trans.__('Shut down')
      : amount.is === 'at-most'
        ? trans.__('Shut down and free up to %1', size)
        : trans.__('Shut down and free %1', size);
  }
  switch (steps.length === 0 ? 'unknown' : amount.is) {
    case 'exact':
      return trans.__('Free %1', size);
    case 'at-least':
      return trans.__('Free at least %1', size);
    case 'at-most':
      return trans.__('Free up to %1', size);
    case 'about':
      return trans.__('Free about %1', size);
    case 'unknown':
      return trans.__('Free memory');
  }
}

/** The line beside the buttons: what is expected while nothing is lost, else what is lost. */
export function footnote(
  language: ILanguage,
  steps: readonly IPlanStep[],
  amount: IAmount,
  held: number | null
): string {
  const { trans, locale } = language;
  if (steps.length === 0) {
    return trans.__('Nothing is ticked');
  }
  const lost = steps.flatMap(step => lossWord(language, step) ?? []);
  if (lost.length > 0) {
    const words = new Intl.ListFormat(locale).format(new Set(lost));
    return trans.__('You lose: %1', words);
  }
  if (amount.bytes === null || held === null) {
    return trans.__('How much comes back is measured afterwards; nothing lost');
  }
  if (amount.bytes === 0) {
    return trans.__('What is ticked returns nothing now');
  }
  return trans.__(
    'Expected: %1 of %2, nothing lost',
    amountText(language, amount),
    formatBytes(held, { locale })
  );
}

/** Why a step is grey, else null. */
export function whyOff(
  trans: TranslationBundle,
  remedy: Remedy,
  selection: ISelection
): string | null {
  if (!remedy.offered) {
    return remedy.why_not ?? trans.__('Not possible now.');
  }
  const cover = coveredBy(remedy.id, selection);
  if (cover === null) {
    return null;
  }
  if (remedy.id === 'end-children') {
    return trans.__(
      'Most end with the kernel; those that stay are listed then.'
    );
  }
  switch (cover) {
    case 'park':
      return trans.__('Already covered by Park.');
    case 'restart':
      return trans.__('Already covered by the restart.');
    default:
      return trans.__('Already covered by the shutdown.');
  }
}
