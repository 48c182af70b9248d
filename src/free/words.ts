import type { TranslationBundle } from '@jupyterlab/translation';
import type { Plan, Remedy, Step } from '../service/wire';

/*
 * The server's sentences are English. Where an id or a state says the same, its words here, which
 * are translated, win; what only the server knows is shown as it comes.
 */

/** What a step is called in the plan. */
export function remedyLabel(
  trans: TranslationBundle,
  id: Remedy['id'] | Step['id']
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
      return trans.__('Clear the Keras session');
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

/** What a step costs, or what it does where nothing is lost. */
export function remedyCost(trans: TranslationBundle, remedy: Remedy): string {
  switch (remedy.id) {
    case 'collect':
      return trans.__('Removes objects that nothing refers to any more.');
    case 'release-cache':
      return trans.__(
        'The framework keeps them to reuse them. It will ask the GPU again when needed.'
      );
    case 'interrupt':
      return trans.__('You lose the cell’s progress. Variables stay.');
    case 'restart':
      return trans.__('You lose every variable.');
    case 'shutdown':
      return trans.__(
        'You lose every variable, and the notebook has no kernel until you start one.'
      );
    default:
      return remedy.loses;
  }
}

/** What there is to know before the steps of a plan; null where nothing is. */
export function planSentence(
  trans: TranslationBundle,
  { state, text }: Plan
): string | null {
  switch (state) {
    case 'busy':
      return trans.__('Memory can’t be freed safely while a cell runs.');
    case 'silent':
      return (
        text ??
        trans.__(
          'The kernel does not answer: native code is running. Nothing can be freed inside it until it answers.'
        )
      );
    case 'no-agent':
      return (
        text ??
        trans.__(
          'Memory can’t be freed inside this kind of kernel. Restarting or shutting it down returns everything it holds.'
        )
      );
    default:
      return text;
  }
}

/** What is lost, for the line beside the buttons; null where nothing is. */
export function lossWord(
  trans: TranslationBundle,
  id: Remedy['id']
): string | null {
  switch (id) {
    case 'collect':
    case 'release-cache':
    case 'park':
    case 'restore':
      return null;
    case 'unpin-exceptions':
    case 'unpin-outputs':
      return trans.__('history');
    case 'delete':
      return trans.__('chosen variables');
    case 'clear-session':
      return trans.__('the Keras session');
    case 'end-children':
      return trans.__('processes the kernel started');
    case 'interrupt':
      return trans.__('the running cell');
    case 'restart':
    case 'shutdown':
      return trans.__('every variable');
  }
}
