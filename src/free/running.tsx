import {
  circleEmptyIcon,
  historyIcon,
  type LabIcon
} from '@jupyterlab/ui-components';
import React from 'react';
import { formatBytes } from '../format';
import type { ILanguage } from '../language';
import { doneIcon, warnIcon } from '../icons';
import type { Remedy, Report, Step } from '../service/wire';
import { amountText, gainOf } from './planmodel';
import { remedyLabel } from './words';

export interface IRunningViewProps {
  remedies: readonly Remedy[];
  /** The latest progress, null before the first. */
  report: Report | null;
  /** The steps begin when the kernel becomes idle. */
  waits: boolean;
  language: ILanguage;
}

/** The steps of a run while it goes on; each line is measured after the step. */
export function RunningView(props: IRunningViewProps): JSX.Element {
  const { remedies, report, language } = props;
  const { trans } = language;
  const current = currentStep(props);
  return (
    <div role="status">
      {remedies.map((remedy, i) => {
        const step = report?.steps[i] ?? null;
        const state =
          i === current
            ? isWaiting(props)
              ? trans.__('waiting…')
              : trans.__('working…')
            : step && step.ok !== null
              ? outcome(language, step)
              : trans.__('expected %1', amountText(language, gainOf(remedy)));
        return (
          <StepLine
            key={remedy.id}
            icon={i === current ? historyIcon : outcomeIcon(step)}
            label={remedyLabel(trans, remedy.id)}
            state={state}
            detail={step?.text}
          />
        );
      })}
    </div>
  );
}

/** Whether the cell that the steps wait for still runs; the server says so with the first step. */
export function isWaiting(
  props: Pick<IRunningViewProps, 'waits' | 'report'>
): boolean {
  const first = props.report?.steps[0];
  return props.waits && (!first || (first.ok === null && first.text !== null));
}

/** The index of the step at work, from 0. */
export function currentStep(
  props: Pick<IRunningViewProps, 'remedies' | 'report'>
): number {
  const done = props.report?.steps.findIndex(step => step.ok === null) ?? 0;
  return done === -1 ? props.remedies.length : done;
}

/** One step: icon, name, what became of it. */
export function StepLine(props: {
  icon: LabIcon;
  label: string;
  state: string;
  detail?: string | null;
}): JSX.Element {
  const Icon = props.icon.react;
  return (
    <div className="jp-Vram-FreeLine jp-mod-step">
      <Icon tag="span" className="jp-Vram-FreeIcon" aria-hidden="true" />
      <span className="jp-Vram-FreeLine-name">
        {props.label}
        {props.detail && <small>{props.detail}</small>}
      </span>
      <span className="jp-Vram-FreeLine-value">{props.state}</span>
    </div>
  );
}

export function outcomeIcon(step: Step | null): LabIcon {
  return step === null || step.ok === null
    ? circleEmptyIcon
    : step.ok
      ? doneIcon
      : warnIcon;
}

export function outcome({ trans, locale }: ILanguage, step: Step): string {
  if (step.ok === null) {
    return trans.__('not run');
  }
  if (!step.ok) {
    return trans.__('failed');
  }
  if (step.id === 'interrupt') {
    return trans.__('interrupted');
  }
  return trans.__(
    'freed %1',
    formatBytes(step.freed, {
      approximate: step.freed_by === 'framework',
      locale
    })
  );
}
