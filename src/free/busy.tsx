import type { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';
import type { ILanguage } from '../language';
import { remedyLabel } from '../remedylabel';
import type { Plan } from '../service/wire';
import { Banner } from './banner';
import { busyChoices, type IBusyChoice } from './busymodel';
import { amountText } from './amounts';
import { planSentence } from './words';

export interface IBusyViewProps {
  plan: Plan;
  choice: IBusyChoice;
  onChoose: (choice: IBusyChoice) => void;
  language: ILanguage;
}

/** A kernel that runs a cell: wait, interrupt, restart. */
export function BusyView(props: IBusyViewProps): JSX.Element {
  const { plan, language } = props;
  const { trans } = language;
  return (
    <>
      <Banner tone="note">{planSentence(trans, plan)}</Banner>
      <div
        role="radiogroup"
        aria-label={trans.__('How to free memory of a running kernel')}
      >
        {busyChoices(plan).map(choice => (
          <Choice
            key={choice.id}
            {...props}
            choice={choice}
            current={props.choice}
          />
        ))}
      </div>
    </>
  );
}

function Choice(props: IBusyViewProps & { current: IBusyChoice }): JSX.Element {
  const { choice, current, onChoose, language } = props;
  const { trans } = language;
  const id = `jp-vram-busy-${choice.id}`;
  const { label, cost } = choiceWords(trans, choice.id);
  return (
    <div className="jp-Vram-FreeStep">
      <input
        type="radio"
        name="jp-vram-busy"
        id={id}
        checked={choice.id === current.id}
        aria-describedby={`${id}-cost ${id}-gain`}
        onChange={() => onChoose(choice)}
      />
      <label htmlFor={id}>{label}</label>
      <span className="jp-Vram-FreeStep-gain" id={`${id}-gain`}>
        {amountText(language, choice.amount)}
      </span>
      <small id={`${id}-cost`}>{cost}</small>
    </div>
  );
}

function choiceWords(
  trans: TranslationBundle,
  id: IBusyChoice['id']
): { label: string; cost: string } {
  switch (id) {
    case 'wait':
      return {
        label: trans.__('Wait, and free when it becomes idle'),
        cost: trans.__(
          'Nothing is lost. Runs when the cell has ended, then tells you the result. You can keep working.'
        )
      };
    case 'interrupt':
      return {
        label: trans.__('Interrupt the cell, then free'),
        cost: trans.__(
          'You lose the cell’s progress since its last checkpoint. Variables stay.'
        )
      };
    case 'restart':
      return {
        label: remedyLabel(trans, id),
        cost: trans.__('You lose the running cell and every variable.')
      };
    case 'shutdown':
      return {
        label: remedyLabel(trans, id),
        cost: trans.__(
          'You lose the running cell and every variable; no kernel is left.'
        )
      };
  }
}
