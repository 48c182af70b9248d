import { formatBytes } from '../format';
import { freeBytes, gpuLabel, shownGpus } from '../gpus';
import type { ILanguage } from '../language';
import type { IVramModel } from '../tokens';

/** Somewhere else to restart a kernel. */
export interface IPlace {
  /** A GPU's uuid, or `cpu`. */
  readonly place: string;
  readonly label: string;
}

/** Where a kernel can be restarted other than where it is; empty where no GPU is known. */
export function placesFor(
  { snapshot }: IVramModel,
  uuids: readonly string[],
  { trans, locale }: ILanguage
): IPlace[] {
  if (!snapshot || snapshot.gpus.length === 0) {
    return [];
  }
  const others = shownGpus(snapshot).filter(
    ({ uuid }) => !uuids.includes(uuid)
  );
  return [
    ...others.map(gpu => ({
      place: gpu.uuid,
      label: trans.__(
        '%1 (%2 free)',
        gpuLabel(trans, gpu, snapshot),
        formatBytes(freeBytes(gpu), { locale })
      )
    })),
    { place: 'cpu', label: trans.__('the CPU only') }
  ];
}
