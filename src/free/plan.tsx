import type { TranslationBundle } from '@jupyterlab/translation';
import type { LabIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { formatBytes } from '../format';
import type { ILanguage } from '../language';
import { doneIcon, noteIcon, warnIcon } from '../icons';
import type { Plan, Remedy } from '../service/wire';
import type { IKernelKey } from '../tokens';
import { Banner } from './banner';
import { Bar } from './bar';
import {
  amountOf,
  amountText,
  chosen,
  coveredBy,
  gainOf,
  initialTicks,
  LOSSES,
  remaining,
  shownRemedies,
  whyOff,
  type IAmount,
  type Loss,
  type RemedyId,
  type Ticks
} from './planmodel';
import { planSentence, remedyCost, remedyLabel } from './words';

const ICONS: Record<Loss, LabIcon> = {
  nothing: doneIcon,
  history: noteIcon,
  work: warnIcon
};

export interface IPlanViewProps {
  plan: Plan;
  ticks: Ticks;
  kernelKey: IKernelKey | null;
  onTick: (id: RemedyId) => void;
  language: ILanguage;
}

/** The plan: what is held now and after, and the steps in groups by what they lose. */
export function PlanView(props: IPlanViewProps): JSX.Element {
  const { plan, ticks, language } = props;
  const { trans } = language;
  const remedies = chosen(plan, ticks);
  const amount = amountOf(remedies, plan.bytes);
  const asOpened = sameTicks(ticks, initialTicks(plan));
  const text = planSentence(trans, plan);
  return (
    <>
      {text && <Banner tone="note">{text}</Banner>}
      <BeforeAfter {...props} amount={amount} />
      {LOSSES.map(loss => (
        <Group key={loss} {...props} loss={loss} />
      ))}
      {asOpened && plan.remains.why && (
        <p className="jp-Vram-FreeNote">{plan.remains.why}</p>
      )}
    </>
  );
}

function BeforeAfter(props: IPlanViewProps & { amount: IAmount }): JSX.Element {
  const { plan, amount, language } = props;
  const { trans } = language;
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
  const { remedy, ticks, heading, onTick, language } = props;
  const { trans } = language;
  const why = whyOff(trans, remedy, ticks);
  const id = `jp-vram-free-step-${remedy.id}`;
  const covered = coveredBy(remedy.id, ticks) !== null;
  return (
    <div className={`jp-Vram-FreeStep${why === null ? '' : ' jp-mod-off'}`}>
      <input
        type="checkbox"
        id={id}
        checked={remedy.offered && !covered && ticks.has(remedy.id)}
        disabled={why !== null}
        aria-describedby={`${heading} ${id}-cost ${id}-gain`}
        onChange={() => onTick(remedy.id)}
      />
      <label htmlFor={id}>{remedyLabel(trans, remedy.id)}</label>
      <span className="jp-Vram-FreeStep-gain" id={`${id}-gain`}>
        {amountText(language, gainOf(remedy))}
      </span>
      <small id={`${id}-cost`}>
        {remedyCost(trans, remedy)} {why}
      </small>
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

function sameTicks(a: Ticks, b: Ticks): boolean {
  return a.size === b.size && [...a].every(id => b.has(id));
}

/** The driver's share of the kernel, summed over frameworks; null where none names it. */
export function contextOf(plan: Plan): number | null {
  const shares = Object.values(plan.frameworks)
    .map(use => use.context)
    .filter((bytes): bytes is number => bytes !== null);
  // One process has one driver context a GPU, whichever framework asked.
  return shares.length === 0 ? null : Math.max(...shares);
}
