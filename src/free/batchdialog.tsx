import {
  circleEmptyIcon,
  historyIcon,
  ReactWidget,
  UseSignal,
  type LabIcon
} from '@jupyterlab/ui-components';
import React from 'react';
import { formatBytes } from '../format';
import { warnIcon } from '../icons';
import { KernelKey } from '../kernelkey';
import { remedyLabel } from '../remedylabel';
import type { Report } from '../service/wire';
import {
  batchResult,
  offerOf,
  together,
  whyNothing,
  type FreeBatch,
  type IOffer
} from './batch';
import { GroupTitle } from './plan';
import { amountText } from './amounts';
import { buttonText, footnote, worstLoss } from './planmodel';
import { outcomeOf, outcomeTitle, shortText } from './resultmodel';
import { outcomeIcon, StepLine } from './running';
import type { FreeSession } from './session';
import { FreeShell, type IFooter } from './shell';

/** The dialog of several kernels. */
export function batchDialog(batch: FreeBatch): FreeShell {
  return new FreeShell({
    changed: batch.changed,
    trans: batch.language.trans,
    body: new BatchBody(batch),
    title: () => titleOf(batch),
    footer: () => footerOf(batch),
    run: () => batch.run(),
    load: () => batch.load()
  });
}

function titleOf(batch: FreeBatch): string {
  const { trans } = batch.language;
  switch (batch.phase) {
    case 'running':
      return trans._n(
        'Freeing memory of %1 kernel',
        'Freeing memory of %1 kernels',
        batch.started!.size
      );
    case 'result': {
      const { outcome } = batchResult(batch.started!.keys());
      return outcome === 'failed'
        ? trans.__('Not every kernel’s memory was freed')
        : outcomeTitle(trans, outcome);
    }
    default:
      return trans._n(
        'Free GPU memory of %1 kernel',
        'Free GPU memory of %1 kernels',
        batch.sessions.length
      );
  }
}

function footerOf(batch: FreeBatch): IFooter {
  const { phase, language } = batch;
  const { trans } = language;
  switch (phase) {
    case 'loading':
      return {
        phase,
        note: '',
        secondary: { label: trans.__('Cancel'), kind: 'reject', does: 'close' }
      };
    case 'plan': {
      const { steps, amount, held } = together(batch.ticked.values());
      return {
        phase,
        note: footnote(language, steps, amount, held),
        secondary: { label: trans.__('Cancel'), kind: 'reject', does: 'close' },
        primary: {
          label: buttonText(language, steps, amount),
          kind: worstLoss(steps) === 'work' ? 'warn' : 'accept',
          disabled: steps.length === 0,
          does: 'run'
        }
      };
    }
    case 'running':
      return {
        phase,
        note: trans.__(
          'You can close this; it goes on, and the result is shown.'
        ),
        secondary: { label: trans.__('Close'), kind: 'reject', does: 'close' }
      };
    case 'result':
      return {
        phase,
        note: '',
        primary: { label: trans.__('Done'), kind: 'accept', does: 'close' }
      };
  }
}

class BatchBody extends ReactWidget {
  constructor(private _batch: FreeBatch) {
    super();
  }

  protected override render(): JSX.Element {
    return (
      <UseSignal signal={this._batch.changed}>
        {() =>
          this._batch.started === null ? (
            <Plans batch={this._batch} />
          ) : (
            <Runs batch={this._batch} started={this._batch.started} />
          )
        }
      </UseSignal>
    );
  }
}

/** Every kernel with what it would return, or why nothing. */
function Plans({ batch }: { batch: FreeBatch }): JSX.Element {
  const heading = 'jp-vram-batch-nothing';
  return (
    <div role="group" aria-labelledby={heading}>
      <GroupTitle loss="nothing" id={heading} language={batch.language} />
      {batch.sessions.map(session => (
        <KernelBox
          key={session.kernelId}
          batch={batch}
          session={session}
          heading={heading}
        />
      ))}
    </div>
  );
}

function KernelBox(props: {
  batch: FreeBatch;
  session: FreeSession;
  heading: string;
}): JSX.Element {
  const { batch, session, heading } = props;
  const { model, kernelId, language, phase } = session;
  const { trans } = language;
  const offer = offerOf(session);
  const key = model.keyOf(kernelId);
  const id = `jp-vram-batch-${kernelId}`;
  const held = offer?.held ?? model.kernel(kernelId)?.bytes ?? null;
  return (
    <div className={`jp-Vram-FreeStep${offer ? '' : ' jp-mod-off'}`}>
      <input
        type="checkbox"
        id={id}
        checked={batch.ticked.has(session)}
        disabled={offer === null}
        aria-describedby={`${heading} ${id}-steps ${id}-gain`}
        onChange={() => batch.toggle(session)}
      />
      <label htmlFor={id} className="jp-Vram-FreeStep-kernel">
        {key && <KernelKey kernelKey={key} />}
        <span>{session.name}</span>
      </label>
      <span className="jp-Vram-FreeStep-gain" id={`${id}-gain`}>
        {offer
          ? trans.__(
              '%1 of %2',
              amountText(language, offer.amount),
              formatBytes(held, language)
            )
          : trans.__('holds %1', formatBytes(held, language))}
      </span>
      <small id={`${id}-steps`}>
        {phase.kind === 'loading'
          ? trans.__('Measuring what can be freed…')
          : offer
            ? offer.steps.map(({ id }) => remedyLabel(trans, id)).join(' · ')
            : whyNothing(session)}
      </small>
    </div>
  );
}

/** Every kernel with what came of it; each line is measured after the kernel's steps. */
function Runs(props: {
  batch: FreeBatch;
  started: ReadonlyMap<FreeSession, IOffer>;
}): JSX.Element {
  const { batch, started } = props;
  const { language } = batch;
  const { trans } = language;
  const { held } = together(started.values());
  return (
    <>
      {batch.phase === 'result' && (
        <p className="jp-Vram-FreeResult" role="status">
          <strong>
            {trans.__(
              'Freed %1',
              amountText(language, batchResult(started.keys()).freed)
            )}
          </strong>{' '}
          <span>
            {trans._n(
              'of %2 held by %1 kernel',
              'of %2 held by %1 kernels',
              started.size,
              formatBytes(held, language)
            )}
          </span>
        </p>
      )}
      <div role="status">
        {[...started].map(([session, offer]) => (
          <StepLine
            key={session.kernelId}
            label={session.name}
            {...lineOf(session, offer)}
          />
        ))}
      </div>
    </>
  );
}

function lineOf(
  { phase, language }: FreeSession,
  offer: IOffer
): { icon: LabIcon; state: string; detail?: string | null } {
  const { trans } = language;
  switch (phase.kind) {
    case 'running':
      return { icon: historyIcon, state: trans.__('working…') };
    case 'failed':
      return {
        icon: warnIcon,
        state: trans.__('failed'),
        detail: phase.text
      };
    case 'result': {
      const { report, expected } = phase.result;
      const failed = report.steps.find(step => step.ok === false);
      const short = outcomeOf(report, expected) === 'short';
      return {
        icon: short ? warnIcon : outcomeIcon(failed ?? report.steps[0]),
        state: freedText(language, report),
        detail: failed
          ? failed.text
          : short
            ? shortText(language, report, expected)
            : null
      };
    }
    default:
      return {
        icon: circleEmptyIcon,
        state: trans.__('expected %1', amountText(language, offer.amount))
      };
  }
}

function freedText(language: FreeSession['language'], report: Report): string {
  const { trans, locale } = language;
  return trans.__(
    'freed %1',
    formatBytes(report.freed, {
      approximate: report.steps.some(step => step.freed_by === 'framework'),
      locale
    })
  );
}
