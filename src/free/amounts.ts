import { formatBytes } from '../format';
import type { ILanguage } from '../language';
import type { Remedy } from '../service/wire';
import { sumOfKnown } from '../sums';

/**
 * How much one or several steps return.
 *
 * `bytes` is null for `unknown`. Next to a part that nobody can measure beforehand, an exact part
 * makes `at-least`, an upper bound makes `about`.
 */
export interface IAmount {
  readonly bytes: number | null;
  readonly is: 'exact' | 'at-least' | 'at-most' | 'about' | 'unknown';
}

export const UNKNOWN_AMOUNT: IAmount = { bytes: null, is: 'unknown' };

/** What one step returns. */
export function gainOf(remedy: Pick<Remedy, 'gain' | 'gain_is'>): IAmount {
  if (remedy.gain === null || remedy.gain_is === 'unknown') {
    return UNKNOWN_AMOUNT;
  }
  // At most nothing is nothing.
  const is = remedy.gain === 0 ? 'exact' : remedy.gain_is;
  return { bytes: remedy.gain, is };
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

/** An amount that can't be more than what is held. */
export function within(amount: IAmount, held: number | null): IAmount {
  const { bytes, is } = amount;
  return {
    bytes: bytes === null || held === null ? bytes : Math.min(bytes, held),
    is
  };
}

/** What stays of `held` after `amount` was returned; a bound where the amount is one. */
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
