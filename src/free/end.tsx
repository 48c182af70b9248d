import { Dialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';
import { formatBytes } from '../format';
import type { ILanguage } from '../language';
import { baseName } from '../names';
import type { Holder } from '../service/wire';
import { sumOfAll } from '../sums';
import type { IVramModel } from '../tokens';
import { ask } from './confirm';
import { failureText } from './failure';
import { ProcessLine } from './result';
import { shorten } from './shorten';
import { gpuTitle } from './subject';
import { failureToast, showToast, type IToast } from './toasts';

/** A process as the reading named it; the server checks that it still is the same one. */
export interface IProcess {
  readonly pid: number;
  /** Seconds since the epoch. */
  readonly startedAt: number;
}

/** Ask, then end the processes one by one and say what came of it. */
export async function endProcesses(
  model: IVramModel,
  processes: readonly IProcess[],
  language: ILanguage
): Promise<void> {
  const { trans } = language;
  const rows = processes.map(process => holdersOf(model, process));
  const accepted = await ask({
    title: trans.__('End leftover processes?'),
    body: (
      <EndBody
        processes={processes}
        rows={rows}
        model={model}
        language={language}
      />
    ),
    cancel: Dialog.cancelButton(),
    accept: Dialog.warnButton({
      label: trans._n('End %1 process', 'End %1 processes', processes.length)
    })
  });
  if (!accepted) {
    return;
  }
  const id = showToast({
    message: trans._n(
      'Ending %1 process…',
      'Ending %1 processes…',
      processes.length
    ),
    type: 'default',
    autoClose: false
  });
  const reasons: string[] = [];
  let ended = 0;
  for (const { pid, startedAt } of processes) {
    try {
      const answer = await model.end(pid, startedAt);
      if (answer.ended) {
        ended++;
      } else {
        reasons.push(answer.text);
      }
    } catch (error) {
      reasons.push(failureText(trans, error));
    }
  }
  await model.refresh();
  showToast(endToast(trans, ended, reasons), id);
}

/** What came of ending processes; `reasons` are the sentences of those that still run. */
export function endToast(
  trans: TranslationBundle,
  ended: number,
  reasons: readonly string[]
): IToast {
  if (reasons.length === 0) {
    return {
      message: trans._n('%1 process ended.', '%1 processes ended.', ended),
      type: 'success',
      autoClose: 6000
    };
  }
  return failureToast(
    ended === 0
      ? reasons[0]
      : trans._n(
          '%1 process ended. Another did not: %2',
          '%1 processes ended. Another did not: %2',
          ended,
          shorten(reasons[0], 90)
        )
  );
}

/** All leftovers in the reading that can be ended. */
export function leftovers(model: IVramModel): IProcess[] {
  const found = new Map<number, IProcess>();
  for (const { pid, started_at, kind } of model.snapshot?.holders ?? []) {
    if (kind === 'leftover' && started_at !== null) {
      found.set(pid, { pid, startedAt: started_at });
    }
  }
  return [...found.values()];
}

/** What the reading says of a process, a row for each of its GPUs. */
function holdersOf(model: IVramModel, process: IProcess): Holder[] {
  return (model.snapshot?.holders ?? []).filter(
    holder =>
      holder.pid === process.pid && holder.started_at === process.startedAt
  );
}

function EndBody(props: {
  processes: readonly IProcess[];
  rows: readonly Holder[][];
  model: IVramModel;
  language: ILanguage;
}): JSX.Element {
  const { processes, rows, model, language } = props;
  const { trans } = language;
  const holders = rows.flat();
  const bytes = sumOfAll(holders.map(({ bytes }) => bytes));
  const gpus = gpuTitle(
    model,
    [...new Set(holders.map(holder => holder.gpu))],
    trans
  );
  const notebooks = new Set(holders.map(holder => holder.notebook));
  const [notebook] = notebooks;
  return (
    <>
      <p>
        {notebooks.size === 1 && notebook
          ? trans._n(
              '%1 process of %2 still holds %3.',
              '%1 processes of %2 still hold %3.',
              processes.length,
              baseName(notebook),
              where(language, bytes, gpus)
            )
          : trans._n(
              '%1 process still holds %2.',
              '%1 processes still hold %2.',
              processes.length,
              where(language, bytes, gpus)
            )}{' '}
        {holders.length > 0 &&
          holders.every(holder => holder.kind === 'leftover') &&
          trans.__('No notebook uses this memory.')}
      </p>
      {processes.map((process, i) => (
        <ProcessLine
          key={process.pid}
          process={{
            pid: process.pid,
            name: rows[i][0]?.name ?? null,
            bytes:
              rows[i].length === 0
                ? null
                : sumOfAll(rows[i].map(holder => holder.bytes))
          }}
          detail={roleText(trans, rows[i][0]?.role)}
          language={language}
        />
      ))}
      <p className="jp-Vram-FreeNote">
        {trans.__('Each is asked to end first, and forced after 5 s.')}
      </p>
    </>
  );
}

function where(
  { trans, locale }: ILanguage,
  bytes: number | null,
  gpus: string
): string {
  const size = formatBytes(bytes, { locale });
  return gpus ? trans.__('%1 on %2', size, gpus) : size;
}

function roleText(
  trans: TranslationBundle,
  role: Holder['role'] | undefined
): string {
  switch (role) {
    case 'main':
      return trans.__('kernel process');
    case 'worker':
      return trans.__('data-loading worker');
    case 'engine':
      return trans.__('engine');
    case 'command':
      return trans.__('command');
    case 'debugger':
      return trans.__('debugger');
    default:
      return '';
  }
}
