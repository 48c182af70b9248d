import type { Kernel, Snapshot } from '../service/wire';
import type { IKernelKey } from '../tokens';

/** Whether a kernel has GPU memory, also where its size is not known. */
export function holdsGpuMemory(kernel: Kernel): boolean {
  return (
    (kernel.bytes ?? 0) > 0 ||
    Object.values(kernel.gpus).some(bytes => bytes !== 0)
  );
}

/** The letter of the nth kernel: `A` to `Z`, then `AA`, `AB`, … */
export function letterOf(index: number): string {
  let letter = '';
  for (let rest = index + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letter = String.fromCharCode(65 + ((rest - 1) % 26)) + letter;
  }
  return letter;
}

/**
 * Gives every kernel a letter at first sight of GPU memory, and takes it back when the kernel has
 * ended. A restart keeps the kernel's id and so its letter.
 */
export class KernelKeys {
  get(kernelId: string): IKernelKey | null {
    return this._keys.get(kernelId) ?? null;
  }

  /** @param snapshot - A reading whose list of kernels is complete (`state: ok`). */
  see(snapshot: Snapshot): void {
    const running = new Set(snapshot.kernels.map(kernel => kernel.id));
    for (const id of this._keys.keys()) {
      if (!running.has(id)) {
        this._keys.delete(id);
      }
    }
    const fresh = snapshot.kernels
      .filter(kernel => holdsGpuMemory(kernel) && !this._keys.has(kernel.id))
      .sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
    for (const kernel of fresh) {
      const index = this._firstFree();
      this._keys.set(kernel.id, { index, letter: letterOf(index) });
    }
  }

  private _firstFree(): number {
    const taken = new Set([...this._keys.values()].map(key => key.index));
    let index = 0;
    while (taken.has(index)) {
      index++;
    }
    return index;
  }

  private readonly _keys = new Map<string, IKernelKey>();
}
