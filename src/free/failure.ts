import type { TranslationBundle } from '@jupyterlab/translation';
import { VramRequestError } from '../service/client';

/** What went wrong, as a sentence for people; the server's own where it gave one. */
export function failureText(trans: TranslationBundle, error: unknown): string {
  if (!(error instanceof VramRequestError)) {
    return error instanceof Error ? error.message : String(error);
  }
  const { kind, message, reason } = error;
  switch (kind) {
    case 'missing':
      return trans.__(
        'The server part of jupyterlab-vram does not answer. Install it where the Jupyter server runs, then restart that server.'
      );
    case 'unreachable':
      return trans.__(
        'The server does not answer. Whether anything changed is not known until it is back.'
      );
    case 'failed':
      return trans.__('The server could not do this: %1', message);
    default:
      return reason ? trans.__('%1 %2', message, reason) : message;
  }
}
