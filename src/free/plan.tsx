import type { TranslationBundle } from '@jupyterlab/translation';
import type { LabIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { formatBytes } from '../format';
import type { ILanguage } from '../language';
import { doneIcon, noteIcon, warnIcon } from '../icons';
import type { Remedy } from '../service/wire';
import type { IKernelKey } from '../tokens';
import { amountText, remaining } from './amounts';
import { Banner } from './banner';
import { Bar } from './bar';
import { poolAdvice } from './hints';
import { HolderList } from './holderlist';
import {
  LOSSES,
  notOffered,
  shownRemedies,
  whyOff,
  type Loss
} from './planmodel';
import { PoolHints } from './pooladvice';
import {
  amountOf,
  coveredBy,
  isInitial,
  stepsOf,
  tickOf,
  totalOf
} from './selection';
import { StepOptions, type IPlanProps } from './stepoptions';
import { cachedAfter, contextOf } from './uses';
import { planSentence, stepCost, stepLabel } from './words';

const ICONS: Record<Loss, LabIcon> = {
  nothing: doneIcon,
  history: noteIcon,
  work: warnIcon
};

export interface IPlanViewProps extends IPlanProps {
  kernelKey: IKernelKey | null;
  /** Bytes that wait in host RAM; null = nothing is parked. */
  parked: number | null;
  onRestore: () => void;
  onCopy: (code: string) => void;
}

/** The plan: what is held now and after, and the steps in groups by what they lose. */
export function PlanView(props: IPlanViewProps): JSX.Element {
  const { plan, selection, language, parked } = props;
  const { trans } = language;
  const text = planSentence(trans, plan);
  const advice = poolAdvice(trans, plan);
  return (
    <>
      {text && <Banner tone="note">{text}</Banner>}
      {advice.map(({ sentence }) => (
        <Banner key={sentence} tone="note">
          {sentence}
        </Banner>
      ))}
      {parked !== null && (
        <Banner tone="note">
          {trans.__(
            '%1 of this notebook waits in host RAM. The next cell you run brings it back.',
            formatBytes(parked, language)
          )}{' '}
          <button className="jp-Vram-FreeLink" onClick={props.onRestore}>
            {trans.__('Restore now')}
          </button>
        </Banner>
      )}
      <BeforeAfter {...props} />
      <HolderList plan={plan} language={language} />
      {LOSSES.map(loss => (
        <Group key={loss} {...props} loss={loss} />
      ))}
      {notOffered(plan).map(({ why, ids }) => (
        <p key={why} className="jp-Vram-FreeNote">
          {trans.__(
            'Not possible now: %1. %2',
            new Intl.ListFormat(language.locale).format(
              ids.map(id => stepLabel(trans, plan, id))
            ),
            why
          )}
        </p>
      ))}
      {advice.length === 0 &&
        isInitial(plan, selection) &&
        plan.remains.why && (
          <p className="jp-Vram-FreeNote">{plan.remains.why}</p>
        )}
      <PoolHints advice={advice} onCopy={props.onCopy} language={language} />
    </>
  );
}

function BeforeAfter(props: IPlanViewProps): JSX.Element {
  const { plan, selection, language } = props;
  const { trans } = language;
  const steps = stepsOf(plan, selection);
  const amount = totalOf(plan, steps);
  const now = trans.__('%1 now', formatBytes(plan.bytes, language));
  const after = trans.__(
    '%1 after',
    amountText(language, remaining(plan.bytes, amount))
  );
  return (
    <>
      <div className="jp-Vram-FreeLine">
        <span>{now}</span>
        <strong>{after}</strong>
      </div>
      <Bar
        held={plan.bytes}
        gone={amount.bytes}
        cached={cachedAfter(plan, steps)}
        context={contextOf(plan)}
        kernelKey={props.kernelKey}
        label={trans.__('Memory of this kernel: %1, %2', now, after)}
      />
    </>
  );
}

function Group(props: IPlanViewProps & { loss: Loss }): JSX.Element | null {
  const { plan, loss, language } = props;
  const remedies = shownRemedies(plan, loss);
  if (remedies.length === 0) {
    return null;
  }
  const heading = `jp-vram-free-${loss}`;
  return (
    <div role="group" aria-labelledby={heading}>
      <GroupTitle loss={loss} id={heading} language={language} />
      {remedies.map(remedy => (
        <StepBox key={remedy.id} {...props} remedy={remedy} heading={heading} />
      ))}
    </div>
  );
}

/** Heads the steps that cost the same. */
export function GroupTitle(props: {
  loss: Loss;
  id: string;
  language: ILanguage;
}): JSX.Element {
  const { loss, id, language } = props;
  const Icon = ICONS[loss].react;
  return (
    <div className="jp-Vram-FreeGroup" id={id}>
      <Icon tag="span" className="jp-Vram-FreeIcon" aria-hidden="true" />
      {lossTitle(language.trans, loss)}
    </div>
  );
}

function StepBox(
  props: IPlanViewProps & { remedy: Remedy; heading: string }
): JSX.Element {
  const { plan, remedy, selection, heading, onTick, language } = props;
  const { trans } = language;
  const why = whyOff(trans, remedy, selection);
  const id = `jp-vram-free-step-${remedy.id}`;
  const runs = remedy.offered && coveredBy(remedy.id, selection) === null;
  const tick = runs && tickOf(plan, selection, remedy.id);
  return (
    <div className={`jp-Vram-FreeStep${why === null ? '' : ' jp-mod-off'}`}>
      <input
        type="checkbox"
        id={id}
        checked={tick !== false}
        disabled={why !== null}
        aria-describedby={`${heading} ${id}-cost ${id}-gain`}
        ref={node => {
          if (node) {
            node.indeterminate = tick === 'some';
          }
        }}
        onChange={() => onTick(remedy.id)}
      />
      <label htmlFor={id}>{stepLabel(trans, plan, remedy.id)}</label>
      <span className="jp-Vram-FreeStep-gain" id={`${id}-gain`}>
        {amountText(language, amountOf(plan, selection, remedy))}
      </span>
      <small id={`${id}-cost`}>
        {remedy.offered && stepCost(language, plan, selection, remedy)} {why}
      </small>
      {why === null && (
        <div className="jp-Vram-FreeStep-options">
          <StepOptions {...props} id={remedy.id} ticked={tick !== false} />
        </div>
      )}
    </div>
  );
}

function lossTitle(trans: TranslationBundle, loss: Loss): string {
  switch (loss) {
    case 'nothing':
      return trans.__('Nothing is lost');
    case 'history':
      return trans.__('History is lost');
    case 'work':
      return trans.__('Work is lost');
  }
}
