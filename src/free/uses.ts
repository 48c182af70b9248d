import type { FrameworkUse, Plan, Report } from '../service/wire';
import { sumOfKnown } from '../sums';
import type { IPlanStep } from './selection';

/** The driver's share of the kernel; null where no framework names it. */
export function contextOf({ frameworks }: Plan): number | null {
  const shares = Object.values(frameworks).flatMap(({ context }) =>
    context === null ? [] : [context]
  );
  // One process has one driver context a GPU, whichever framework asked.
  return shares.length === 0 ? null : Math.max(...shares);
}

/** What the frameworks will still keep to reuse it after the steps; null where none tells. */
export function cachedAfter(
  { frameworks }: Plan,
  steps: readonly Pick<IPlanStep, 'id' | 'amount'>[]
): number | null {
  const cached = cachedOf(frameworks);
  const release = steps.find(({ id }) => id === 'release-cache');
  return cached === null
    ? null
    : Math.max(0, cached - (release?.amount.bytes ?? 0));
}

/** What the frameworks kept to reuse it when the run ended; null where none told. */
export function cachedIn({ steps }: Report): number | null {
  const told = steps
    .map(step => step.frameworks_after)
    .filter(frameworks => Object.keys(frameworks).length > 0);
  return told.length === 0 ? null : cachedOf(told[told.length - 1]);
}

function cachedOf(frameworks: { [name: string]: FrameworkUse }): number | null {
  const uses = Object.values(frameworks);
  return uses.length === 0 ? null : sumOfKnown(uses.map(use => use.cached));
}
