import type { TranslationBundle } from '@jupyterlab/translation';
import { formatBytes, formatShare } from '../format';
import type { ILanguage } from '../language';
import { remedyLabel } from '../remedylabel';
import type { ParkPlan, Plan, Remedy } from '../service/wire';
import {
  childrenOf,
  variablesOf,
  type IPlanStep,
  type ISelection,
  type RemedyId
} from './selection';
import { shorten } from './shorten';

/*
 * The server's sentences are English. Where an id or a state says the same, its words here, which
 * are translated, win; what only the server knows is shown as it comes.
 */

/** From this share on a person is told that the kernel's own figures differ. */
const DIFFERS = 0.05;

/** So many names stand in a sentence; more are counted. */
const NAMED = 3;

/** What a step is called in a kernel's plan. */
export function stepLabel(
  trans: TranslationBundle,
  plan: Plan,
  id: RemedyId
): string {
  return id !== 'clear-session'
    ? remedyLabel(trans, id)
    : 'tensorflow' in plan.frameworks
      ? trans.__('Clear the Keras session')
      : trans.__('Drop compiled code');
}

/** What a step costs, or what it does where nothing is lost. */
export function stepCost(
  language: ILanguage,
  plan: Plan,
  selection: ISelection,
  remedy: Remedy
): string {
  const { trans } = language;
  switch (remedy.id) {
    case 'collect':
      return trans.__('Removes objects that nothing refers to any more.');
    case 'release-cache':
      return trans.__(
        'The framework keeps them to reuse them. It will ask the GPU again when needed.'
      );
    case 'park':
      return remedy.offered && plan.park !== null
        ? parkSentence(language, plan.park)
        : '';
    case 'delete':
      return deleteCost(language, plan, selection);
    case 'end-children':
      return trans.__(
        'You lose what they are doing. %1 of %2 chosen.',
        selection.pids.size,
        childrenOf(plan).length
      );
    case 'interrupt':
      return trans.__('You lose the cell’s progress. Variables stay.');
    case 'restart':
      return trans.__(
        '%1 Only the end of its process returns everything.',
        everyVariable(language, plan)
      );
    case 'shutdown':
      return trans.__(
        '%1 The notebook has no kernel until you start one.',
        everyVariable(language, plan)
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
  language: ILanguage,
  { id, request }: IPlanStep
): string | null {
  const { trans } = language;
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
      return variables(language, request.names ?? []);
    case 'clear-session':
      return trans.__('the framework’s session');
    case 'end-children': {
      const { length } = request.pids ?? [];
      return trans._n('%1 process', '%1 processes', length);
    }
    case 'interrupt':
      return trans.__('the running cell');
    case 'restart':
    case 'shutdown':
      return trans.__('every variable');
  }
}

/** `All 31 tensors can move. Host RAM free: 38.2 GiB. …` */
export function parkSentence(language: ILanguage, park: ParkPlan): string {
  const { trans, locale } = language;
  const parts = [
    park.stays.length === 0
      ? trans._n('The tensor can move.', 'All %1 tensors can move.', park.count)
      : trans._n('%1 tensor can move.', '%1 tensors can move.', park.count)
  ];
  if (park.stays.length > 0) {
    const names = park.stays.slice(0, NAMED).map(({ label }) => shorten(label));
    parts.push(
      trans.__(
        '%1 stays on the GPU: %2.',
        formatBytes(park.stays_bytes, { locale }),
        listed(
          language,
          names,
          park.stays.length > NAMED ? trans.__('others') : null
        )
      )
    );
  } else if (park.stays_bytes) {
    parts.push(
      trans.__(
        '%1 stays on the GPU, held by no Python object.',
        formatBytes(park.stays_bytes, { locale })
      )
    );
  }
  if (park.differs !== null && park.differs > DIFFERS) {
    parts.push(
      trans.__(
        'What was found differs by %1 from what the framework says is in use.',
        formatShare(park.differs, locale)
      )
    );
  }
  if (park.host_free !== null) {
    parts.push(
      trans.__('Host RAM free: %1.', formatBytes(park.host_free, { locale }))
    );
  }
  parts.push(trans.__('Restored when you run a cell, or with Restore.'));
  return parts.join(' ');
}

function deleteCost(
  language: ILanguage,
  plan: Plan,
  { names }: ISelection
): string {
  const { trans } = language;
  return names.size === 0
    ? trans.__('Choose which. There is no undo.')
    : trans.__(
        'You lose %1. %2 of %3 chosen. There is no undo.',
        variables(language, [...names]),
        names.size,
        variablesOf(plan).length
      );
}

/** `emb_matrix and model`, or `12 variables`. */
function variables(language: ILanguage, names: readonly string[]): string {
  return names.length > NAMED
    ? language.trans._n('%1 variable', '%1 variables', names.length)
    : listed(
        language,
        names.map(name => shorten(name)),
        null
      );
}

function listed(
  { locale }: ILanguage,
  names: readonly string[],
  more: string | null
): string {
  return new Intl.ListFormat(locale).format(
    more === null ? names : [...names, more]
  );
}

/** `You lose every variable: 14 variables and 1 model.` */
function everyVariable(
  { trans, locale }: ILanguage,
  { variables, models }: Plan
): string {
  if (!variables) {
    return trans.__('You lose every variable.');
  }
  const counts = [trans._n('%1 variable', '%1 variables', variables)];
  if (models) {
    counts.push(trans._n('%1 model', '%1 models', models));
  }
  return trans.__(
    'You lose every variable: %1.',
    new Intl.ListFormat(locale).format(counts)
  );
}
