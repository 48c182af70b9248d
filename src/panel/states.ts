import type { TranslationBundle } from '@jupyterlab/translation';
import { formatAge, formatTime } from '../format';
import type { Snapshot } from '../service/wire';
import type { ConnectionStatus } from '../tokens';
import { shownGpus } from '../gpus';

/** What a state's button does. */
export type StateAction = 'refresh' | 'reload' | 'simulate' | 'copy' | 'admin';

export interface IStateButton {
  readonly action: StateAction;
  readonly label: string;
}

/** A note above the cards. */
export interface IBanner {
  readonly tone: 'error' | 'warn' | 'info';
  readonly text: string;
  readonly button: IStateButton | null;
}

/** What fills the panel when there are no cards to show. */
export interface IEmptyState {
  readonly title: string;
  readonly text: string;
  /** What was looked at, one sentence each. */
  readonly tried: readonly string[];
  /** A command line to try, shown as code. */
  readonly code: string | null;
  readonly buttons: readonly IStateButton[];
  /** Grey bars in place of the cards that are about to come. */
  readonly skeleton?: boolean;
}

/** How the panel stands, in words. */
export interface IPanelState {
  /** The word beside the title: `live`, `paused`, … */
  readonly word: string;
  readonly icon: 'error' | 'unplugged' | null;
  /** Whether readings arrive or could be made to, so that Pause makes sense. */
  readonly pausable: boolean;
  /** The figures are old: shown grey, actions off. */
  readonly stale: boolean;
  readonly banner: IBanner | null;
  readonly empty: IEmptyState | null;
}

/** What `panelState` looks at. */
export interface IStateInput {
  readonly snapshot: Snapshot | null;
  readonly status: ConnectionStatus;
  /** Seconds since the epoch, this browser's clock. */
  readonly receivedAt: number | null;
  /** Seconds since the epoch, this browser's clock. */
  readonly now: number;
  /** The last reading with figures, where the latest has none because the driver is silent. */
  readonly kept: Snapshot | null;
  readonly locale?: string;
}

/** States in which figures read before still say more than none. */
export function isSilent({ state }: Snapshot): boolean {
  return state === 'timeout' || state === 'lost-access' || state === 'stale';
}

/** Find the words for how browser, server and driver stand. */
export function panelState(
  trans: TranslationBundle,
  input: IStateInput
): IPanelState {
  return connectionState(trans, input) ?? driverState(trans, input);
}

const LIVE = {
  icon: null,
  pausable: true,
  stale: false,
  banner: null,
  empty: null
} as const;

const OUT_OF_ORDER = {
  icon: 'error',
  pausable: false,
  stale: false,
  banner: null
} as const;

function again(trans: TranslationBundle): IStateButton {
  return { action: 'refresh', label: trans.__('Look again') };
}

function copy(trans: TranslationBundle): IStateButton {
  return { action: 'copy', label: trans.__('Copy details') };
}

/** How browser and server stand; null where the reading says the rest. */
function connectionState(
  trans: TranslationBundle,
  { snapshot, status, receivedAt, now, locale }: IStateInput
): IPanelState | null {
  switch (status) {
    case 'missing':
      return {
        ...OUT_OF_ORDER,
        word: trans.__('no server part'),
        empty: {
          title: trans.__('The server part is missing'),
          text: trans.__(
            'This Jupyter server does not answer for GPU memory: the package jupyterlab-vram is not installed where the server runs, or its server extension is switched off. This command, run there, lists what is enabled:'
          ),
          tried: [],
          code: 'jupyter server extension list',
          buttons: [again(trans)]
        }
      };
    case 'forbidden':
      return {
        ...OUT_OF_ORDER,
        word: trans.__('no access'),
        empty: {
          title: trans.__('You may not see this'),
          text: trans.__(
            'The server does not let this account read kernels. Log in again, or ask whoever runs the server.'
          ),
          tried: [],
          code: null,
          buttons: [again(trans)]
        }
      };
    case 'reload':
      return {
        ...OUT_OF_ORDER,
        word: trans.__('reload'),
        empty: {
          title: trans.__('Reload the page'),
          text: trans.__(
            'The server was upgraded and this page is of the version before, so that it can’t read the server’s figures. Notebooks are saved as always.'
          ),
          tried: [],
          code: null,
          buttons: [{ action: 'reload', label: trans.__('Reload the page') }]
        }
      };
    case 'stale': {
      const retry: IStateButton = {
        action: 'refresh',
        label: trans.__('Retry now')
      };
      const text =
        snapshot === null
          ? trans.__(
              'The server does not answer. Actions are off until it is back.'
            )
          : trans.__(
              'The server does not answer. Numbers are from %1 and may be wrong. Actions are off until it is back.',
              formatTime(snapshot.taken_at, locale)
            );
      return {
        word:
          receivedAt === null
            ? trans.__('no answer')
            : trans.__('stopped %1 ago', shortAge(trans, now - receivedAt)),
        icon: 'unplugged',
        pausable: true,
        stale: true,
        banner: { tone: 'warn', text, button: retry },
        empty: null
      };
    }
    case 'starting':
      return snapshot === null ? starting(trans) : null;
    case 'paused':
      return snapshot === null
        ? {
            ...LIVE,
            word: trans.__('paused'),
            empty: {
              title: trans.__('Paused'),
              text: trans.__('No readings are taken for this browser.'),
              tried: [],
              code: null,
              buttons: [again(trans)]
            }
          }
        : null;
    case 'live':
      return snapshot === null ? starting(trans) : null;
  }
}

function starting(trans: TranslationBundle): IPanelState {
  return {
    ...LIVE,
    pausable: false,
    word: trans.__('starting…'),
    empty: {
      title: trans.__('Reading the NVIDIA driver'),
      text: trans.__('This takes up to 2 s the first time.'),
      tried: [],
      code: null,
      buttons: [],
      skeleton: true
    }
  };
}

/** What the driver said, with a reading at hand. */
function driverState(
  trans: TranslationBundle,
  { snapshot: maybe, status, receivedAt, kept, locale }: IStateInput
): IPanelState {
  const snapshot = maybe!;
  const word =
    status === 'paused'
      ? receivedAt === null
        ? trans.__('paused')
        : trans.__('paused at %1', formatTime(receivedAt, locale))
      : trans.__('live');
  const { problem } = snapshot;
  const simulate: IStateButton = {
    action: 'simulate',
    label: trans.__('Try with a simulated GPU')
  };
  switch (snapshot.state) {
    case 'ok':
      return { ...LIVE, word, banner: viewsBanner(trans, snapshot) };
    case 'starting':
      return starting(trans);
    case 'no-library':
    case 'no-driver':
    case 'no-devices':
      return {
        ...OUT_OF_ORDER,
        icon: null,
        word: trans.__('no GPU'),
        empty: {
          title:
            snapshot.state === 'no-driver'
              ? trans.__('The NVIDIA driver does not answer')
              : trans.__('No NVIDIA GPU found'),
          text:
            problem === null
              ? trans.__(
                  'This computer (or container) shows no NVIDIA GPU to Jupyter.'
                )
              : trans.__('%1 %2', problem.text, problem.hint),
          tried: problem?.tried ?? [],
          code: null,
          buttons: [again(trans), simulate]
        }
      };
    default: {
      // Something is there and out of order: version-mismatch, no-permission, lost-access,
      // timeout, stale. The server's words say what; figures it still has are shown grey.
      const text = problem?.text ?? trans.__('The GPU can’t be read.');
      const hint =
        problem?.hint ?? trans.__('Running notebooks are not affected.');
      const cards = kept ?? (shownGpus(snapshot).length > 0 ? snapshot : null);
      return {
        ...OUT_OF_ORDER,
        word: stateWord(trans, snapshot.state),
        stale: cards !== null,
        banner: {
          tone: 'error',
          text:
            cards === null
              ? text
              : trans.__(
                  '%1 %2 Numbers are from %3 and may be wrong.',
                  text,
                  hint,
                  formatTime(cards.taken_at, locale)
                ),
          button: cards === null ? null : again(trans)
        },
        empty:
          cards !== null
            ? null
            : {
                title:
                  snapshot.state === 'version-mismatch'
                    ? trans.__('Readings need a reboot')
                    : trans.__('No readings'),
                text: hint,
                tried: problem?.tried ?? [],
                code: null,
                buttons: [again(trans), copy(trans)]
              }
      };
    }
  }
}

function stateWord(trans: TranslationBundle, state: Snapshot['state']): string {
  switch (state) {
    case 'no-permission':
      return trans.__('no permission');
    case 'lost-access':
      return trans.__('access lost');
    case 'timeout':
      return trans.__('driver hangs');
    case 'stale':
      return trans.__('old numbers');
    default:
      return trans.__('driver error');
  }
}

/** What the driver hides from here, in the server's words, and where sizes come from instead. */
function viewsBanner(
  trans: TranslationBundle,
  { views, holders }: Snapshot
): IBanner | null {
  if (views.processes === 'all' && views.sizes === 'all') {
    return null;
  }
  const reason =
    views.reason ?? trans.__('The driver hides who uses the rest of the GPU.');
  const guessed = holders.some(
    ({ bytes_from }) => bytes_from === 'kernel' || bytes_from === 'estimate'
  );
  return {
    tone: 'info',
    text: guessed
      ? trans.__(
          '%1 Sizes marked ≈ come from the framework and leave out the driver context.',
          reason
        )
      : reason,
    button:
      views.processes === 'all'
        ? null
        : { action: 'admin', label: trans.__('What to ask your admin') }
  };
}

/** `48 s`, else as everywhere. */
export function shortAge(trans: TranslationBundle, seconds: number): string {
  return seconds < 60
    ? trans.__('%1 s', Math.max(0, Math.floor(seconds)))
    : formatAge(trans, seconds);
}
