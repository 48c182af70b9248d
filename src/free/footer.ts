import { formatBytes } from '../format';
import { buttonText, footnote, worstLoss } from './planmodel';
import { outcomeOf, outcomeTitle, processEnded } from './resultmodel';
import { canStop, isWaiting } from './runningmodel';
import { stepsOf, totalOf } from './selection';
import type { FreeSession } from './session';
import type { IFooter, IFooterButton } from './shell';

export function titleOf(session: FreeSession): string {
  const { phase, name } = session;
  const { trans } = session.language;
  switch (phase.kind) {
    case 'busy':
      return trans.__('%1 is running', name);
    case 'running':
      return isWaiting(phase)
        ? trans.__('Waiting for %1', name)
        : trans.__('Freeing memory of %1', name);
    case 'result':
      return outcomeTitle(
        trans,
        outcomeOf(phase.result.report, phase.result.expected)
      );
    default:
      return trans.__('Free GPU memory of %1', name);
  }
}

/** Note and buttons of a session's phase. */
export function footerOf(session: FreeSession): IFooter {
  const { phase, language } = session;
  const { trans } = language;
  const cancel: IFooterButton = {
    label: trans.__('Cancel'),
    kind: 'reject',
    does: 'close'
  };
  const close: IFooterButton = { ...cancel, label: trans.__('Close') };
  switch (phase.kind) {
    case 'loading':
      return { phase: phase.kind, note: '', secondary: cancel };
    case 'gone':
      return { phase: phase.kind, note: '', secondary: close };
    case 'failed':
      return {
        phase: phase.kind,
        note: '',
        secondary: close,
        primary: {
          label: phase.running ? trans.__('Plan again') : trans.__('Retry'),
          kind: 'accept',
          does: 'load'
        }
      };
    case 'plan': {
      const { plan, selection } = phase;
      const steps = stepsOf(plan, selection);
      const amount = totalOf(plan, steps);
      return {
        phase: phase.kind,
        note: footnote(language, steps, amount, plan.bytes),
        secondary: cancel,
        primary: {
          label: buttonText(language, steps, amount),
          kind: worstLoss(steps) === 'work' ? 'warn' : 'accept',
          disabled: steps.length === 0,
          does: 'run'
        }
      };
    }
    case 'busy': {
      const { id, amount, steps } = phase.choice;
      return {
        phase: phase.kind,
        note:
          id === 'wait'
            ? trans.__('You can close this; it stays scheduled.')
            : '',
        secondary: cancel,
        primary: {
          label:
            id === 'wait'
              ? trans.__('Free when idle')
              : id === 'interrupt'
                ? trans.__('Interrupt and free')
                : buttonText(language, steps, amount),
          kind: id === 'wait' ? 'accept' : 'warn',
          does: 'run'
        }
      };
    }
    case 'running': {
      const waiting = isWaiting(phase);
      const stop: IFooterButton = {
        label: waiting
          ? trans.__('Don’t wait')
          : trans.__('Stop after this step'),
        kind: 'reject',
        does: 'stop'
      };
      return {
        phase: phase.kind,
        note: waiting
          ? trans.__('You can close this; it stays scheduled.')
          : phase.stopping === ''
            ? trans.__('Stops after this step. Steps already done stay done.')
            : trans.__(
                'You can close this; it goes on, and the result is shown.'
              ),
        secondary: canStop(phase) ? stop : close,
        primary: canStop(phase) ? { ...close, kind: 'accept' } : undefined
      };
    }
    case 'result': {
      const { report, expected } = phase.result;
      const done: IFooterButton = {
        label: trans.__('Done'),
        kind: 'accept',
        does: 'close'
      };
      if (processEnded(report)) {
        return { phase: phase.kind, note: '', primary: done };
      }
      const outcome = outcomeOf(report, expected);
      if (outcome === 'done' || outcome === 'stopped') {
        return {
          phase: phase.kind,
          note: '',
          secondary: {
            label: trans.__('Restart kernel…'),
            kind: 'reject',
            does: 'restart'
          },
          primary: done
        };
      }
      const { bytes } = report.remains;
      return {
        phase: phase.kind,
        note: '',
        secondary: close,
        primary: {
          label:
            bytes === null
              ? trans.__('Restart kernel…')
              : trans.__('Restart and free %1…', formatBytes(bytes, language)),
          kind: 'warn',
          does: 'restart'
        }
      };
    }
  }
}
