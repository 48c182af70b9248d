import type { Plan, Remedy } from '../service/wire';
import { amountOf, lossOf, type IAmount, type RemedyId } from './planmodel';

/** One way out for a kernel that runs a cell. */
export interface IBusyChoice {
  readonly id: 'wait' | 'interrupt' | 'restart' | 'shutdown';
  readonly remedies: readonly Remedy[];
  readonly when: 'now' | 'idle';
  readonly amount: IAmount;
}

/**
 * What a busy plan leaves to choose from, gentle first; empty if the plan offers nothing at all.
 *
 * #### Notes
 * Only steps that lose nothing run by themselves once the cell has ended.
 */
export function busyChoices(plan: Plan): IBusyChoice[] {
  const offered = (id: RemedyId): Remedy | undefined =>
    plan.remedies.find(remedy => remedy.id === id && remedy.offered);
  const choices: IBusyChoice[] = [];
  const add = (
    id: IBusyChoice['id'],
    remedies: readonly Remedy[],
    when: IBusyChoice['when'] = 'now'
  ): void => {
    choices.push({
      id,
      remedies,
      when,
      amount: amountOf(remedies, plan.bytes)
    });
  };
  const interrupt = offered('interrupt');
  // Not offered at this moment because a cell runs; once it has ended they can be run.
  const gentle = plan.remedies.filter(
    remedy => lossOf(remedy.id) === 'nothing'
  );
  if (interrupt && gentle.length > 0) {
    add('wait', gentle, 'idle');
    choices.push({
      id: 'interrupt',
      remedies: [interrupt, ...gentle],
      when: 'now',
      // What the interrupt itself returns is in the figures of the steps after it.
      amount: amountOf(gentle, plan.bytes)
    });
  }
  for (const id of ['restart', 'shutdown'] as const) {
    const remedy = offered(id);
    if (remedy) {
      add(id, [remedy]);
    }
  }
  return choices;
}
