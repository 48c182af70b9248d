import type { TranslationBundle } from '@jupyterlab/translation';

/** How frameworks write themselves. */
const NAMES: { readonly [adapter: string]: string } = {
  torch: 'PyTorch',
  tensorflow: 'TensorFlow',
  jax: 'JAX',
  cupy: 'CuPy',
  numba: 'Numba',
  rmm: 'RMM',
  vllm: 'vLLM',
  'llama.cpp': 'llama.cpp'
};

/** The framework of a name on the wire, as people write it. */
export function frameworkName(trans: TranslationBundle, name: string): string {
  return name === 'simulated'
    ? trans.__('simulated arrays')
    : (NAMES[name] ?? name);
}
