import React from 'react';
import { formatBytes } from '../format';
import type { Snapshot } from '../service/wire';
import { CommandIDs } from '../tokens';
import { CommandButton } from './commandbutton';
import { usePanel } from './context';
import { gpuList } from '../gpus';
import type { ILeftover, IOther } from './processes';

/** Processes whose kernel is gone; "End…" asks before it ends them. */
export function LeftoverList(props: {
  lines: readonly ILeftover[];
  snapshot: Snapshot;
  disabled: boolean;
}): JSX.Element {
  const { lines, snapshot, disabled } = props;
  const { trans, locale } = usePanel();
  return (
    <ul className="jp-Vram-List">
      {lines.map(({ key, name, title, bytes, uuids, evidence, processes }) => {
        const safe = processes.filter(({ startedAt }) => startedAt !== null);
        return (
          <li key={key} className="jp-Vram-Row">
            <span className="jp-Vram-Key jp-Vram-leftover" aria-hidden="true" />
            <span
              className="jp-Vram-Row-name jp-Vram-ellipsis"
              title={title ?? name}
            >
              {name}
            </span>
            <b className="jp-Vram-Row-size jp-Vram-number">
              {formatBytes(bytes, { locale })}
            </b>
            <span
              className="jp-Vram-Row-status jp-Vram-ellipsis"
              title={evidence ?? ''}
            >
              {trans.__(
                '%1 · %2',
                gpuList(trans, uuids, snapshot),
                trans._n('%1 process', '%1 processes', processes.length)
              )}
            </span>
            <span className="jp-Vram-Row-end">
              <CommandButton
                command={CommandIDs.end}
                args={{ processes: safe }}
                disabled={disabled || safe.length === 0}
                label={trans.__('End processes of %1…', name)}
                title={
                  safe.length === 0
                    ? trans.__(
                        'When it was started is not known, so that it can’t be told from another process with its number.'
                      )
                    : undefined
                }
              >
                {trans.__('End…')}
              </CommandButton>
            </span>
          </li>
        );
      })}
    </ul>
  );
}

/** Who else is on the GPUs; nothing can be done about them from here. */
export function OtherList(props: {
  lines: readonly IOther[];
  snapshot: Snapshot;
}): JSX.Element {
  const { lines, snapshot } = props;
  const { trans, locale } = usePanel();
  return (
    <ul className="jp-Vram-List">
      {lines.map(({ key, name, bytes, uuids, count, reason }) => {
        const gpus = gpuList(trans, uuids, snapshot);
        const where =
          count === null
            ? gpus
            : trans.__(
                '%1 · %2',
                gpus,
                trans._n('%1 process', '%1 processes', count)
              );
        return (
          <li key={key} className="jp-Vram-Row" title={reason ?? undefined}>
            <span className="jp-Vram-Key jp-Vram-other" aria-hidden="true" />
            <span className="jp-Vram-Row-name jp-Vram-ellipsis">{name}</span>
            <span className="jp-Vram-Row-size jp-Vram-number">
              {formatBytes(bytes, { locale })}
            </span>
            <span className="jp-Vram-Row-status jp-Vram-ellipsis" title={where}>
              {where}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
