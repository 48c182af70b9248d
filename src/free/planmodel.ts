import type { TranslationBundle } from '@jupyterlab/translation';
import { formatBytes } from '../format';
import type { ILanguage } from '../language';
import type { Plan, Remedy, RunRequest } from '../service/wire';
import { sumOfKnown } from '../sums';
import { lossWord, remedyLabel } from './words';

export type RemedyId = Remedy['id'];

/** What a remedy costs: the group it stands in. */
export type Loss = 'nothing' | 'history' | 'work';

export const LOSSES: readonly Loss[] = ['nothing', 'history', 'work'];

/** Gentle to drastic: the order in which ticked steps run. */
const ORDER: readonly RemedyId[] = [
  'interrupt',
  'collect',
  'unpin-exceptions',
  'unpin-outputs',
  'delete',
  'clear-session',
  'end-children',
  'park',
  'restore',
  'release-cache',
  'restart',
  'shutdown'
];

/** Steps after which no process is left, so that every other step has nothing to do. */
const ENDS_PROCESS: readonly RemedyId[] = ['shutdown', 'restart'];

/** The ids that the user ticked; covered ones may be among them. */
export type Ticks = ReadonlySet<RemedyId>;

/**
 * How much several steps return together.
 *
 * `bytes` is null for `unknown`. Next to a part that nobody can measure beforehand, an exact part
 * makes `at-least`, an upper bound makes `about`.
 */
export interface IAmount {
  readonly bytes: number | null;
  readonly is: 'exact' | 'at-least' | 'at-most' | 'about' | 'unknown';
}

export const UNKNOWN_AMOUNT: IAmount = { bytes: null, is: 'unknown' };

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

/** The steps of a plan that are shown: what is offered, and what can't be done with its reason. */
export function shownRemedies(plan: Plan, loss: Loss): Remedy[] {
  return plan.remedies.filter(
    remedy =>
      lossOf(remedy.id) === loss &&
      remedy.id !== 'interrupt' &&
      (remedy.offered || remedy.why_not !== null)
  );
}

/** What the plan opens with. */
export function initialTicks(plan: Plan): Ticks {
  return new Set(
    plan.remedies
      .filter(remedy => remedy.offered && remedy.default)
      .map(remedy => remedy.id)
  );
}

export function toggle(ticks: Ticks, id: RemedyId): Ticks {
  const next = new Set(ticks);
  if (!next.delete(id)) {
    next.add(id);
  }
  return next;
}

/** The ticked step that makes this one needless, else null. */
export function coveredBy(id: RemedyId, ticks: Ticks): RemedyId | null {
  return ENDS_PROCESS.find(other => other !== id && ticks.has(other)) ?? null;
}

/** The ticked steps that will run, gentle first. */
export function chosen(plan: Plan, ticks: Ticks): Remedy[] {
  return plan.remedies
    .filter(
      remedy =>
        remedy.offered &&
        ticks.has(remedy.id) &&
        coveredBy(remedy.id, ticks) === null
    )
    .sort((a, b) => ORDER.indexOf(a.id) - ORDER.indexOf(b.id));
}

/** The sum of the gains, never more than the kernel holds. */
export function amountOf(
  remedies: readonly Remedy[],
  held: number | null
): IAmount {
  const { bytes, is } = addAmounts(remedies.map(gainOf));
  return {
    bytes: bytes === null || held === null ? bytes : Math.min(bytes, held),
    is
  };
}

/** Several amounts together. */
export function addAmounts(amounts: readonly IAmount[]): IAmount {
  if (amounts.length === 0) {
    return { bytes: 0, is: 'exact' };
  }
  const bytes = sumOfKnown(amounts.map(amount => amount.bytes));
  const has = (...kinds: IAmount['is'][]): boolean =>
    amounts.some(({ is }) => kinds.includes(is));
  const open = has('unknown', 'at-least', 'about');
  if (bytes === null || (open && bytes === 0)) {
    return UNKNOWN_AMOUNT;
  }
  const bounded = has('at-most', 'about');
  if (open) {
    return { bytes, is: bounded ? 'about' : 'at-least' };
  }
  return { bytes, is: bounded ? 'at-most' : 'exact' };
}

/** What stays after `amount` was returned; a bound where the amount is one. */
export function remaining(held: number | null, amount: IAmount): IAmount {
  if (held === null || amount.bytes === null) {
    return UNKNOWN_AMOUNT;
  }
  const bytes = Math.max(0, held - amount.bytes);
  switch (amount.is) {
    case 'at-least':
      return { bytes, is: 'at-most' };
    case 'at-most':
      // "At least nothing" would tell nothing.
      return bytes === 0 ? UNKNOWN_AMOUNT : { bytes, is: 'at-least' };
    default:
      return { bytes, is: amount.is };
  }
}

/** The worst group among the steps that will run. */
export function worstLoss(remedies: readonly Remedy[]): Loss {
  const losses = remedies.map(remedy => lossOf(remedy.id));
  return losses.includes('work')
    ? 'work'
    : losses.includes('history')
      ? 'history'
      : 'nothing';
}

/** @throws RangeError if nothing is to be run; the button is off then. */
export function requestFor(
  remedies: readonly Remedy[],
  when: 'now' | 'idle' = 'now'
): RunRequest {
  if (remedies.length === 0) {
    throw new RangeError('No step is ticked');
  }
  const steps = remedies.map(remedy => ({ id: remedy.id }));
  // The generated type spells out every length from 1 to 20.
  return { remedies: steps as RunRequest['remedies'], when };
}

/** `3.8 GiB`, `up to 4.2 GiB`, `at least 3.8 GiB`, `about 2.6 GiB` or `—`. */
export function amountText(
  { trans, locale }: ILanguage,
  amount: IAmount
): string {
  const size = formatBytes(amount.bytes, { locale });
  switch (amount.is) {
    case 'at-least':
      return trans.__('at least %1', size);
    case 'at-most':
      return trans.__('up to %1', size);
    case 'about':
      return trans.__('about %1', size);
    default:
      return size;
  }
}

/** The label of the button that runs the ticked steps. */
export function buttonText(
  { trans, locale }: ILanguage,
  remedies: readonly Remedy[],
  amount: IAmount
): string {
  const last = remedies[remedies.length - 1]?.id;
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
  switch (amount.is) {
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
  remedies: readonly Remedy[],
  amount: IAmount,
  held: number | null
): string {
  const { trans, locale } = language;
  if (remedies.length === 0) {
    return trans.__('Nothing is ticked');
  }
  const lost = remedies.map(remedy => lossWord(trans, remedy.id));
  const words = [...new Set(lost.filter(word => word !== null))] as string[];
  if (words.length > 0) {
    return trans.__('You lose: %1', new Intl.ListFormat(locale).format(words));
  }
  if (amount.bytes === null || held === null) {
    return trans.__('How much comes back is measured afterwards; nothing lost');
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
  ticks: Ticks
): string | null {
  if (!remedy.offered) {
    return remedy.why_not ?? trans.__('Not possible now.');
  }
  const cover = coveredBy(remedy.id, ticks);
  return cover === null
    ? null
    : trans.__('Already covered by “%1”.', remedyLabel(trans, cover));
}

/** What one step returns, as shown at its right edge. */
export function gainOf(remedy: Remedy): IAmount {
  if (remedy.gain === null || remedy.gain_is === 'unknown') {
    return UNKNOWN_AMOUNT;
  }
  // At most nothing is nothing.
  const is = remedy.gain === 0 ? 'exact' : remedy.gain_is;
  return { bytes: remedy.gain, is };
}

/** How far below a figure that was no promise a result may stay before it counts as less. */
const LEEWAY = 0.9;

/**
 * Whether less came back than the plan said, as far as a person can see it: both figures are
 * compared as they are shown.
 */
export function fellShort(freed: number | null, expected: IAmount): boolean {
  if (freed === null || expected.bytes === null) {
    return false;
  }
  const vague = expected.is === 'at-most' || expected.is === 'about';
  return (
    freed < expected.bytes * (vague ? LEEWAY : 1) &&
    formatBytes(freed) !== formatBytes(expected.bytes)
  );
}
