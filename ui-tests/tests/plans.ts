/** The drawings' plan for embeddings.ipynb, which holds 11.2 GiB, and what came of it. */
import { gib, snapshot, TAKEN_AT } from '../../src/__tests__/mockup';
import type { Plan, Remedy, Report, Step } from '../../src/service/wire';

const { version, schema } = snapshot();

export const KERNEL = 'embeddings';

export function remedy(
  id: Remedy['id'],
  gain: number | null,
  change: Partial<Remedy> = {}
): Remedy {
  return {
    id,
    gain: gain === null ? null : gib(gain),
    gain_is: gain === null ? 'unknown' : 'exact',
    loses: '',
    offered: true,
    why_not: null,
    default: false,
    ...change
  };
}

const ENDING = [
  remedy('restart', 11.2, { loses: 'All variables of the notebook.' }),
  remedy('shutdown', 11.2, { loses: 'All variables; no kernel is left.' })
];

/** 3.8 GiB are cached, 2.1 GiB are garbage. */
export function plan(change: Partial<Plan> = {}): Plan {
  return {
    type: 'plan',
    version,
    schema,
    kernel_id: KERNEL,
    state: 'idle',
    measured_at: TAKEN_AT,
    bytes: gib(11.2),
    gpus: { 'GPU-0': gib(11.2) },
    frameworks: {
      torch: {
        live: gib(6.9),
        cached: gib(3.8),
        context: gib(0.5),
        peak: gib(11.2)
      }
    },
    holders_in_kernel: [],
    remedies: [
      remedy('collect', 2.1, { default: true }),
      remedy('release-cache', 3.8, { default: true }),
      ...ENDING
    ],
    remains: { bytes: gib(5.3), why: 'Variables and the driver context stay.' },
    text: null,
    ...change
  };
}

export function busyPlan(): Plan {
  const why_not = 'A cell is running.';
  return plan({
    state: 'busy',
    remedies: [
      remedy('release-cache', null, { offered: false, why_not }),
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

export function step(
  id: Step['id'],
  freed: number,
  change: Partial<Step> = {}
): Step {
  return {
    id,
    ok: true,
    freed: gib(freed),
    freed_by: 'driver',
    before: null,
    after: null,
    seconds: 0.1,
    text: null,
    ...change
  };
}

/** Of 11.2 GiB. */
export function report(steps: Step[], change: Partial<Report> = {}): Report {
  const freed = steps.reduce((sum, { freed }) => sum + (freed ?? 0), 0);
  return {
    type: 'report',
    version,
    schema,
    kernel_id: KERNEL,
    run_id: 'run',
    finished: true,
    at: TAKEN_AT,
    steps,
    freed,
    expected: gib(5.9),
    remains: { bytes: gib(11.2) - freed, why: null },
    survivors: [],
    ...change
  };
}
