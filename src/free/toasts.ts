import { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import { formatBytes } from '../format';
import type { ILanguage } from '../language';
import type { Report } from '../service/wire';
import { sumOfAll } from '../sums';
import { CommandIDs } from '../tokens';
import { batchResult, type FreeBatch } from './batch';
import { amountText } from './amounts';
import { endable, processEnded, wasRun } from './resultmodel';
import { shorten } from './shorten';

/** JupyterLab cuts a toast's text here. */
const LONGEST = 140;

/** For results that need no answer, in ms. */
const BRIEF = 6000;

/** One toast, shown now or in place of an earlier one. */
export interface IToast {
  message: string;
  type: Notification.TypeOptions;
  autoClose: number | false;
  actions?: Notification.IAction[];
}

/** Show a toast; with `id`, in place of that one while it is still there. */
export function showToast(toast: IToast, id?: string): string {
  const message = shorten(toast.message, LONGEST);
  // An update keeps the actions that it does not name.
  const options = { ...toast, message, actions: toast.actions ?? [] };
  if (id !== undefined && Notification.update({ id, ...options })) {
    return id;
  }
  return Notification.emit(message, toast.type, {
    autoClose: toast.autoClose,
    actions: options.actions
  });
}

/** Something failed; `text` is the reason as a sentence. */
export function failureToast(text: string): IToast {
  return { message: text, type: 'error', autoClose: false };
}

/** While a restart or shutdown is being checked. */
export function checkingToast(
  trans: TranslationBundle,
  name: string,
  id: 'restart' | 'shutdown'
): IToast {
  return {
    message:
      id === 'restart'
        ? trans.__(
            'Restarting the kernel of %1; checking that the memory is gone…',
            shorten(name)
          )
        : trans.__(
            'Shutting down the kernel of %1; checking that the memory is gone…',
            shorten(name)
          ),
    type: 'default',
    autoClose: false
  };
}

/** What freeing several kernels brought. */
export function batchToast({ started, language }: FreeBatch): IToast {
  const { trans } = language;
  const { failed, freed } = batchResult(started!.keys());
  const size = amountText(language, freed);
  return failed > 0
    ? {
        message: trans.__(
          'Freed %1. %2 of %3 kernels failed.',
          size,
          failed,
          started!.size
        ),
        type: 'warning',
        autoClose: false
      }
    : {
        message: trans._n(
          'Freed %2 of %1 kernel.',
          'Freed %2 of %1 kernels.',
          started!.size,
          size
        ),
        type: 'success',
        autoClose: BRIEF
      };
}

/** What a finished run brought. */
export function reportToast(
  { trans, locale }: ILanguage,
  commands: CommandRegistry,
  name: string,
  report: Report
): IToast {
  const short = shorten(name);
  const failed = report.steps.find(step => step.ok === false);
  if (failed && !wasRun(failed)) {
    return {
      message: failed.text ?? trans.__('Not run in the kernel of %1.', short),
      type: 'info',
      autoClose: BRIEF
    };
  }
  if (failed) {
    return failureToast(
      failed.text ?? trans.__('This did not work in the kernel of %1.', short)
    );
  }
  const { survivors, freed } = report;
  const restarted = report.steps.some(step => step.id === 'restart');
  if (survivors.length > 0) {
    const processes = endable(survivors);
    const size = formatBytes(sumOfAll(survivors.map(({ bytes }) => bytes)), {
      locale
    });
    return {
      message: restarted
        ? trans._n(
            '%2 restarted, but %3 stays with %1 process it had started.',
            '%2 restarted, but %3 stays with %1 processes it had started.',
            survivors.length,
            short,
            size
          )
        : trans._n(
            '%2 was shut down, but %3 stays with %1 process it had started.',
            '%2 was shut down, but %3 stays with %1 processes it had started.',
            survivors.length,
            short,
            size
          ),
      type: 'warning',
      autoClose: false,
      actions:
        processes.length === 0
          ? []
          : [
              {
                label: trans.__('End…'),
                callback: () =>
                  void commands.execute(CommandIDs.end, { processes })
              }
            ]
    };
  }
  if (freed === null) {
    return {
      message: trans.__(
        'Done for %1. How much GPU memory came back could not be measured.',
        short
      ),
      type: 'info',
      autoClose: BRIEF
    };
  }
  const framework = report.steps.some(step => step.freed_by === 'framework');
  const size = formatBytes(freed, { approximate: framework, locale });
  const message = restarted
    ? trans.__('%1 restarted. Freed %2.', short, size)
    : processEnded(report)
      ? trans.__('%1 was shut down. Freed %2.', short, size)
      : report.remains.bytes === null
        ? trans.__('Freed %1 in %2.', size, short)
        : trans.__(
            'Freed %1 in %2; it still holds %3.',
            size,
            short,
            formatBytes(report.remains.bytes, { locale })
          );
  return { message, type: 'success', autoClose: BRIEF };
}
