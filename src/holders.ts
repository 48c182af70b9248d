import type { TranslationBundle } from '@jupyterlab/translation';
import type { ILanguage } from './language';
import type { HolderInKernel } from './service/wire';

/**
 * What a holder is, beside its name: `Tensor float32 · 1 730 000 × 512`, and by which other names
 * it would stay.
 */
export function holderKind(
  { trans, locale }: ILanguage,
  holder: HolderInKernel
): string {
  const { kind, dtype, shape, count, also } = holder;
  const number = new Intl.NumberFormat(locale, { useGrouping: true });
  const parts = [dtype === null ? kind : trans.__('%1 %2', kind, dtype)];
  if (shape !== null && shape.length > 0) {
    parts.push(shape.map(length => number.format(length)).join(' × '));
  }
  if (count > 1) {
    parts.push(trans._n('%1 tensor', '%1 tensors', count));
  }
  if (also.length > 0) {
    parts.push(
      trans.__('also by %1', new Intl.ListFormat(locale).format(also))
    );
  }
  return parts.filter(part => part !== '').join(' · ');
}

/** Which other names lead to the same memory; null where none is known. */
export function holderAlso(
  { trans, locale }: ILanguage,
  { also }: HolderInKernel
): string | null {
  return also.length === 0
    ? null
    : trans.__('also in %1', new Intl.ListFormat(locale).format(also));
}

/** Why something that has no variable of its own is still there; null for a variable. */
export function holderPlace(
  trans: TranslationBundle,
  where: string
): string | null {
  switch (where) {
    case 'output':
      return trans.__('output history');
    case 'exception':
      return trans.__('last error’s traceback');
    case 'module':
      return trans.__('in a module');
    case 'closure':
      return trans.__('kept by a function');
    case 'frame':
      return trans.__('in a running function');
    case 'thread':
      return trans.__('in a thread');
    case 'generator':
      return trans.__('in a generator');
    case 'framework':
      return trans.__('kept by the framework');
    case 'unknown':
      return trans.__('nobody found');
    default:
      return null;
  }
}
