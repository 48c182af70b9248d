import type { TranslationBundle } from '@jupyterlab/translation';
import type { Kernel } from './service/wire';

/** The path that a kernel is known by: its notebook's, else its first session's. */
export function kernelPath(kernel: Kernel): string | null {
  return kernel.notebook ?? kernel.sessions[0]?.path ?? null;
}

/**
 * What each kernel is called in a list: the file's name; two with the same name show their folder
 * too. A kernel without a file is named by its kernelspec.
 */
export function kernelNames(
  trans: TranslationBundle,
  kernels: readonly Kernel[]
): Map<string, string> {
  const counts = new Map<string, number>();
  for (const kernel of kernels) {
    const path = kernelPath(kernel);
    if (path !== null) {
      counts.set(baseName(path), (counts.get(baseName(path)) ?? 0) + 1);
    }
  }
  return new Map(
    kernels.map(kernel => {
      const path = kernelPath(kernel);
      if (path === null) {
        return [
          kernel.id,
          trans.__('%1 kernel %2', kernel.name, kernel.id.slice(0, 8))
        ];
      }
      const name = baseName(path);
      return [kernel.id, counts.get(name)! > 1 ? lastParts(path, 2) : name];
    })
  );
}

/** The last part of a path. */
export function baseName(path: string): string {
  return lastParts(path, 1);
}

function lastParts(path: string, count: number): string {
  return path.split('/').slice(-count).join('/');
}
