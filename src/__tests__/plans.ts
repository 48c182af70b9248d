/*
 * The drawings' plan for embeddings.ipynb, which holds 11.2 GiB, and what came of it. Plain data;
 * Jest and Playwright share it.
 */
import { SCHEMA } from '../service/wire';
import type {
  HolderInKernel,
  Plan,
  Remedy,
  Report,
  Step
} from '../service/wire';
import { gib, TAKEN_AT } from './mockup';

/** The kernel of the drawings' plan. */
export const KERNEL = 'embeddings';

/** A step that is offered; `gain` in GiB, null = not known. */
export function remedy(
  id: Remedy['id'],
  gain: number | null,
  change: Partial<Remedy> = {}
): Remedy {
  return {
    id,
    gain: gain === null ? null : gib(gain),
    gain_is: gain === null ? 'unknown' : 'exact',
    loses: 'Nothing is lost.',
    offered: true,
    why_not: null,
    default: false,
    ...change
  };
}

/** Something in the kernel that holds so many GiB; a variable that can be deleted by its label. */
export function holder(
  label: string,
  size: number,
  change: Partial<HolderInKernel> = {}
): HolderInKernel {
  return {
    label,
    where: 'variable',
    kind: 'Tensor',
    bytes: gib(size),
    gpu: 'GPU-0',
    shape: null,
    dtype: null,
    count: 1,
    name: label,
    gain: gib(size),
    also: [],
    ...change
  };
}

/** 3.3 + 2.1 + 0.9 + 0.6 of 6.9 GiB in use. */
export const HOLDERS: HolderInKernel[] = [
  holder('emb_matrix', 3.3, { dtype: 'float32', shape: [1_730_000, 512] }),
  holder('last error', 2.1, {
    where: 'exception',
    count: 9,
    name: null,
    gain: null
  }),
  holder('model', 0.9, { kind: 'SentenceEncoder', count: 199 }),
  holder('Out[17]', 0.6, {
    where: 'output',
    dtype: 'float16',
    shape: [314_600, 1024],
    name: null,
    gain: null
  })
];

/** The plan of the drawings without park: 3.8 of 11.2 GiB return, nothing lost. */
export function plan(change: Partial<Plan> = {}): Plan {
  return {
    type: 'plan',
    version: '0.1.0',
    schema: SCHEMA,
    kernel_id: KERNEL,
    state: 'idle',
    measured_at: TAKEN_AT - 3,
    bytes: gib(11.2),
    gpus: { 'GPU-0': gib(11.2) },
    frameworks: {
      torch: {
        live: gib(6.9),
        cached: gib(3.8),
        context: gib(0.5),
        peak: null
      }
    },
    holders_in_kernel: [],
    scan: null,
    park: null,
    children: [],
    variables: null,
    models: null,
    pools: [],
    remedies: [
      remedy('release-cache', 3.8, { default: true }),
      remedy('unpin-exceptions', 2.1, {
        loses: 'You lose %debug for the error in cell [18].'
      }),
      remedy('restart', 11.2, { loses: 'You lose every variable.' }),
      remedy('shutdown', 11.2, { loses: 'You lose every variable.' })
    ],
    remains: { bytes: gib(7.4), why: '6.9 GiB is in use by variables.' },
    text: null,
    ...change
  };
}

/** All of the drawings' plan, with everything that can be chosen in it. */
export function fullPlan(change: Partial<Plan> = {}): Plan {
  return plan({
    holders_in_kernel: HOLDERS,
    scan: { objects: 250_000, complete: true, found: gib(6.9) },
    park: {
      bytes: gib(6.9),
      count: 31,
      stays: [],
      stays_bytes: 0,
      host_free: gib(38.2),
      host_left: 0.5,
      differs: 0
    },
    variables: 14,
    models: 1,
    remedies: [
      remedy('park', 6.9),
      remedy('release-cache', 3.8, { default: true }),
      remedy('unpin-exceptions', 2.1, {
        loses: 'You lose %debug for the error in cell [18].'
      }),
      remedy('unpin-outputs', 0.6, {
        loses: 'You lose Out[17]. Variables stay.'
      }),
      remedy('delete', 4.2, { gain_is: 'at-most' }),
      remedy('restart', 11.2),
      remedy('shutdown', 11.2)
    ],
    ...change
  });
}

/** A step that ran and freed so many GiB by the driver; null = not known. */
export function step(
  id: Step['id'],
  freed: number | null,
  change: Partial<Step> = {}
): Step {
  return {
    id,
    ok: true,
    freed: freed === null ? null : gib(freed),
    freed_by: freed === null ? null : 'driver',
    before: null,
    after: null,
    frameworks_before: {},
    frameworks_after: {},
    seconds: 0.1,
    text: null,
    by_page: null,
    ...change
  };
}

/** A finished run; what its steps freed is taken from 11.2 GiB. */
export function report(steps: Step[], change: Partial<Report> = {}): Report {
  const known = steps.flatMap(({ freed }) => freed ?? []);
  const freed =
    known.length > 0 ? known.reduce((sum, part) => sum + part) : null;
  return {
    type: 'report',
    version: '0.1.0',
    schema: SCHEMA,
    kernel_id: KERNEL,
    run_id: 'r1',
    finished: true,
    waiting: false,
    at: TAKEN_AT,
    steps,
    freed,
    expected: null,
    remains: { bytes: gib(11.2) - (freed ?? 0), why: null },
    survivors: [],
    ...change
  };
}
