import type { CommandRegistry } from '@lumino/commands';
import { formatBytes } from '../format';
import { freeBytes, gpuLabel } from '../gpus';
import type { ILanguage } from '../language';
import type { Gpu, Report } from '../service/wire';
import { CommandIDs, type IVramModel } from '../tokens';
import { shorten } from './shorten';
import { failureToast, type IToast } from './toasts';

/** What the sentences are about, as the reading after the run has it. */
export interface IParkSubject {
  readonly model: IVramModel;
  readonly commands: CommandRegistry;
  readonly kernelId: string;
  readonly name: string;
  readonly language: ILanguage;
}

/** What parking brought, with the way back. */
export function parkToast(subject: IParkSubject, report: Report): IToast {
  const { commands, kernelId, name, language } = subject;
  const { trans, locale } = language;
  const [step] = report.steps;
  if (!step.ok) {
    return failureToast(
      step.text ??
        trans.__('%1 was not parked; nothing changed.', shorten(name))
    );
  }
  const freed = formatBytes(report.freed, { locale });
  const held = formatBytes(step.before, { locale });
  const gpu = onlyGpu(subject);
  return {
    message: gpu
      ? trans.__(
          'Freed %1 of %2. %3 now has %4 free. %5 is parked.',
          freed,
          held,
          gpu.label,
          gpu.free,
          shorten(name)
        )
      : trans.__('Freed %1 of %2. %3 is parked.', freed, held, shorten(name)),
    type: 'success',
    autoClose: false,
    actions: [
      {
        label: trans.__('Restore'),
        callback: () => void commands.execute(CommandIDs.restore, { kernelId })
      }
    ]
  };
}

/** What bringing it back brought. */
export function restoreToast(
  subject: IParkSubject,
  report: Report,
  /** Bytes that waited in host RAM before. */
  parked: number | null
): IToast {
  const { name, language } = subject;
  const { trans, locale } = language;
  const [step] = report.steps;
  if (step.ok) {
    return {
      message: trans.__(
        'Restored %1: its values are on the GPU again.',
        shorten(name)
      ),
      type: 'success',
      autoClose: 6000
    };
  }
  const gpu = onlyGpu(subject);
  if (gpu && gpu.bytes !== null && parked !== null && gpu.bytes < parked) {
    return failureToast(
      trans.__(
        'Can’t restore: needs %1, %2 has %3 free. The values stay in RAM.',
        formatBytes(parked, { locale }),
        gpu.label,
        gpu.free
      )
    );
  }
  return failureToast(
    step.text ??
      trans.__('%1 was not restored. The values stay in RAM.', shorten(name))
  );
}

/** The kernel's GPU where it is on one; null on several, or where that is not known. */
function onlyGpu({
  model,
  kernelId,
  language
}: IParkSubject): { label: string; free: string; bytes: number | null } | null {
  const { snapshot } = model;
  const uuids = Object.keys(model.kernel(kernelId)?.gpus ?? {});
  const gpu: Gpu | null = uuids.length === 1 ? model.gpu(uuids[0]) : null;
  if (gpu === null || snapshot === null) {
    return null;
  }
  const bytes = freeBytes(gpu);
  return {
    label: gpuLabel(language.trans, gpu, snapshot),
    free: formatBytes(bytes, { locale: language.locale }),
    bytes
  };
}
