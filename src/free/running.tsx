import {
  circleEmptyIcon,
  historyIcon,
  type LabIcon
} from '@jupyterlab/ui-components';
import React from 'react';
import { formatBytes } from '../format';
import type { ILanguage } from '../language';
import { doneIcon, warnIcon } from '../icons';
import type { Plan, Step } from '../service/wire';
import { amountText } from './amounts';
import { Banner } from './banner';
import {
  currentStep,
  isWaiting,
  orderedSteps,
  type IRunning
} from './runningmodel';
import { wasRun } from './resultmodel';
import { stepLabel } from './words';

export interface IRunningViewProps extends IRunning {
  plan: Plan;
  language: ILanguage;
}

/** The steps of a run while it goes on; each line is measured after the step. */
export function RunningView(props: IRunningViewProps): JSX.Element {
  const { plan, report, stopping, language } = props;
  const { trans } = language;
  const current = currentStep(props);
  return (
    <>
      {stopping && <Banner tone="warn">{stopping}</Banner>}
      <div role="status">
        {orderedSteps(props).map(({ id, amount }, i) => {
          const step = report?.steps[i] ?? null;
          const state =
            i === current
              ? isWaiting(props)
                ? trans.__('waiting…')
                : trans.__('working…')
              : step && step.ok !== null
                ? outcome(language, step)
                : trans.__('expected %1', amountText(language, amount));
          return (
            <StepLine
              key={id}
              icon={i === current ? historyIcon : outcomeIcon(step)}
              label={stepLabel(trans, plan, id)}
              state={state}
              detail={step?.text}
            />
          );
        })}
      </div>
    </>
  );
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
  return step === null || step.ok === null || !wasRun(step)
    ? circleEmptyIcon
    : step.ok
      ? doneIcon
      : warnIcon;
}

export function outcome({ trans, locale }: ILanguage, step: Step): string {
  if (step.ok === null || !wasRun(step)) {
    return trans.__('not run');
  }
  if (!step.ok) {
    return trans.__('failed');
  }
  if (step.id === 'interrupt') {
    return trans.__('interrupted');
  }
  if (step.id === 'restore') {
    return trans.__('restored');
  }
  return trans.__(
    'freed %1',
    formatBytes(step.freed, {
      approximate: step.freed_by === 'framework',
      locale
    })
  );
}
