/** What the server answers for the drawings' plan of embeddings.ipynb, which holds 11.2 GiB. */
import { gib } from '../../src/__tests__/mockup';
import { fullPlan, plan as base, remedy } from '../../src/__tests__/plans';
import type { Plan } from '../../src/service/wire';

export { fullPlan, KERNEL, report, step } from '../../src/__tests__/plans';

const ENDING = [remedy('restart', 11.2), remedy('shutdown', 11.2)];

/** 3.8 GiB are cached, 2.1 GiB are garbage. */
export function plan(change: Partial<Plan> = {}): Plan {
  return base({
    remedies: [
      remedy('collect', 2.1, { default: true }),
      remedy('release-cache', 3.8, { default: true }),
      ...ENDING
    ],
    remains: { bytes: gib(5.3), why: 'Variables and the driver context stay.' },
    ...change
  });
}

export function busyPlan(): Plan {
  const why_not = 'A cell is running.';
  return plan({
    state: 'busy',
    remedies: [
      remedy('release-cache', 2.6, {
        gain_is: 'at-most',
        offered: false,
        why_not
      }),
      remedy('interrupt', null, { loses: 'The running cell.' }),
      ...ENDING
    ]
  });
}

export function noAgentPlan(): Plan {
  return plan({
    state: 'no-agent',
    measured_at: null,
    frameworks: {},
    remedies: ENDING,
    remains: { bytes: null, why: null }
  });
}

/** TensorFlow keeps its pool: 6.2 of 9.4 GiB are in use. */
export function poolPlan(): Plan {
  return fullPlan({
    bytes: gib(9.4),
    gpus: { 'GPU-0': gib(9.4) },
    frameworks: {
      tensorflow: {
        live: gib(6.2),
        cached: gib(2.7),
        context: gib(0.5),
        peak: gib(8)
      }
    },
    holders_in_kernel: [],
    park: null,
    pools: ['tensorflow'],
    remedies: [
      remedy('clear-session', 0, {
        loses:
          'You lose models that no variable holds. Makes 6.2 GiB reusable inside this notebook. Returns nothing to the GPU.'
      }),
      remedy('restart', 9.4),
      remedy('shutdown', 9.4)
    ],
    remains: { bytes: gib(9.4), why: null }
  });
}

/** Workers that the kernel started hold 3.0 of 11.2 GiB. */
export function childrenPlan(): Plan {
  const child = (pid: number, size: number) => ({
    pid,
    started_at: 5,
    name: 'pt_data_worker',
    gpu: 'GPU-0',
    bytes: gib(size)
  });
  return plan({
    children: [child(48213, 2), child(48214, 1)],
    remedies: [remedy('end-children', 3), ...ENDING]
  });
}
