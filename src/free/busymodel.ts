import type { Plan, Remedy } from '../service/wire';
import type { IAmount } from './amounts';
import { plainStep, totalOf, type IPlanStep, type RemedyId } from './selection';

/** One way out for a kernel that runs a cell. */
export interface IBusyChoice {
  readonly id: 'wait' | 'interrupt' | 'restart' | 'shutdown';
  readonly steps: readonly IPlanStep[];
  readonly when: 'now' | 'idle';
  readonly amount: IAmount;
}

/** What runs by itself once the cell has ended: nothing is lost, nothing is moved. */
const GENTLE: readonly RemedyId[] = ['collect', 'release-cache'];

/** What a busy plan leaves to choose from, gentle first; empty if the plan offers nothing at all. */
export function busyChoices(plan: Plan): IBusyChoice[] {
  const offered = (id: RemedyId): Remedy | undefined =>
    plan.remedies.find(remedy => remedy.id === id && remedy.offered);
  const choices: IBusyChoice[] = [];
  const interrupt = offered('interrupt');
  // Not offered at this moment because a cell runs; once it has ended they can be run.
  const gentle = plan.remedies
    .filter(({ id }) => GENTLE.includes(id))
    .map(plainStep);
  if (interrupt && gentle.length > 0) {
    // What the interrupt itself returns is in the figures of the steps after it.
    const amount = totalOf(plan, gentle);
    choices.push(
      { id: 'wait', steps: gentle, when: 'idle', amount },
      {
        id: 'interrupt',
        steps: [plainStep(interrupt), ...gentle],
        when: 'now',
        amount
      }
    );
  }
  for (const id of ['restart', 'shutdown'] as const) {
    const remedy = offered(id);
    if (remedy) {
      const steps = [plainStep(remedy)];
      choices.push({
        id,
        steps,
        when: 'now',
        amount: totalOf(plan, steps)
      });
    }
  }
  return choices;
}
