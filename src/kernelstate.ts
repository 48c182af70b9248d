import type { TranslationBundle } from '@jupyterlab/translation';
import { formatAge } from './format';
import type { Kernel } from './service/wire';

/** `idle 2 h`; `idle` alone under a minute, and where the last activity is not known (null). */
export function idleText(
  trans: TranslationBundle,
  seconds: number | null
): string {
  return seconds === null || seconds < 60
    ? trans.__('idle')
    : trans.__('idle %1', formatAge(trans, seconds));
}

/** What a kernel does that is neither idle nor busy; null where its state is not known. */
export function stateWord(
  trans: TranslationBundle,
  state: Kernel['state']
): string | null {
  switch (state) {
    case 'starting':
      return trans.__('starting');
    case 'restarting':
    case 'autorestarting':
      return trans.__('restarting');
    case 'terminating':
      return trans.__('shutting down');
    case 'dead':
      return trans.__('died');
    default:
      return null;
  }
}
