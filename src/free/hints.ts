import type { TranslationBundle } from '@jupyterlab/translation';
import { frameworkName } from '../frameworks';
import type { Plan } from '../service/wire';

/** A line of code for the person to copy, and what it is for. */
export interface IHint {
  readonly title: string;
  readonly code: string;
}

/** What there is to know of a framework that keeps its pool. */
export interface IPoolAdvice {
  readonly sentence: string;
  readonly hints: readonly IHint[];
}

/** A name that can stand in code as it is. */
const IDENTIFIER = /^[A-Za-z_]\w{0,60}$/;

/** What a plan says of each framework that returns nothing while its process lives. */
export function poolAdvice(
  trans: TranslationBundle,
  plan: Plan
): IPoolAdvice[] {
  const save = trans.__('Save first');
  const grow = trans.__('So it grows as needed next time (first cell)');
  return plan.pools.map(pool => {
    const sentence =
      pool === 'vllm'
        ? trans.__(
            'vLLM keeps the memory of its engine until the engine’s process ends.'
          )
        : trans.__(
            '%1 keeps its memory pool until the process ends. Other notebooks get this memory back only when this kernel restarts.',
            frameworkName(trans, pool)
          );
    switch (pool) {
      case 'tensorflow': {
        const model = modelName(plan);
        return {
          sentence,
          hints: [
            { title: save, code: `${model}.save("${model}.keras")` },
            {
              title: grow,
              code: 'import tensorflow as tf\nfor gpu in tf.config.list_physical_devices("GPU"):\n    tf.config.experimental.set_memory_growth(gpu, True)'
            }
          ]
        };
      }
      case 'jax':
        return {
          sentence,
          hints: [
            {
              title: save,
              code: 'import jax, pickle\nwith open("params.pickle", "wb") as file:\n    pickle.dump(jax.device_get(params), file)'
            },
            {
              title: grow,
              code: 'import os\nos.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"'
            }
          ]
        };
      case 'vllm':
        return {
          sentence,
          hints: [
            {
              title: trans.__('So it takes less next time'),
              code: 'llm = LLM(model=model, gpu_memory_utilization=0.5, enable_sleep_mode=True)'
            }
          ]
        };
      default:
        return { sentence, hints: [] };
    }
  });
}

/** The variable of the plan's largest Keras model; `model` where there is none. */
function modelName({ holders_in_kernel }: Plan): string {
  const found = holders_in_kernel.find(
    ({ name, kind }) =>
      name !== null &&
      IDENTIFIER.test(name) &&
      /Sequential|Functional|Model$/.test(kind)
  );
  return found?.name ?? 'model';
}
