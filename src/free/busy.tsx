import type { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';
import type { Plan } from '../service/wire';
import { Banner } from './banner';
import { busyChoices, type IBusyChoice } from './busymodel';
import { amountText } from './planmodel';

export interface IBusyViewProps {
  plan: Plan;
  choice: IBusyChoice;
  onChoose: (choice: IBusyChoice) => void;
  trans: TranslationBundle;
}

/** A kernel that runs a cell: wait, interrupt, restart. */
export function BusyView(props: IBusyViewProps): JSX.Element {
  const { plan, trans } = props;
  return (
    <>
      <Banner tone="note">
        {plan.text ??
          trans.__('Memory can’t be freed safely while a cell runs.')}
      </Banner>
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
  const { choice, current, onChoose, trans } = props;
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
        {amountText(trans, choice.amount)}
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
        label: trans.__('Restart the kernel'),
        cost: trans.__('You lose the running cell and every variable.')
      };
    case 'shutdown':
      return {
        label: trans.__('Shut down the kernel'),
        cost: trans.__(
          'You lose the running cell and every variable; no kernel is left.'
        )
      };
  }
}
