import type { TranslationBundle } from '@jupyterlab/translation';
import type { Remedy } from './service/wire';

/** What a remedy is called, in the plan and where it tells what was done. */
export function remedyLabel(
  trans: TranslationBundle,
  id: Remedy['id']
): string {
  switch (id) {
    case 'collect':
      return trans.__('Collect unreachable objects');
    case 'release-cache':
      return trans.__('Release cached blocks');
    case 'park':
      return trans.__('Park: move live tensors to host RAM');
    case 'restore':
      return trans.__('Restore: move parked tensors back');
    case 'unpin-exceptions':
      return trans.__('Drop the last error’s traceback');
    case 'unpin-outputs':
      return trans.__('Clear Out[] history');
    case 'delete':
      return trans.__('Delete variables');
    case 'clear-session':
      return trans.__('Clear the framework’s session');
    case 'end-children':
      return trans.__('End processes that the kernel started');
    case 'interrupt':
      return trans.__('Interrupt the cell');
    case 'restart':
      return trans.__('Restart the kernel');
    case 'shutdown':
      return trans.__('Shut down the kernel');
  }
}
