import { ellipsesIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { formatBytes } from '../format';
import { longIdleIcon, parkedIcon } from '../icons';
import { KernelKey } from '../kernelkey';
import { hasKernelMenu, openKernelMenu, openKernelMenuAt } from '../kernelmenu';
import { CommandIDs } from '../tokens';
import { CommandButton } from './commandbutton';
import { usePanel } from './context';
import type { IKernelRow, RowState } from './rows';
import { Sparkline } from './sparkline';

export interface IKernelRowProps {
  row: IKernelRow;
  compact: boolean;
  expanded: boolean;
  /** Undefined in a list where rows can't be selected. */
  selected: boolean | undefined;
  /** The row that Tab reaches. */
  current: boolean;
  /** Position among all rows, counting from 1. */
  index: number;
  /** The server does not answer: nothing can be done. */
  disabled: boolean;
  /** `sparklinePath` of the kernel. */
  spark: string;
  onToggle: (kernelId: string) => void;
  onSelect: ((kernelId: string) => void) | undefined;
}

/** One kernel in the list. */
export const KernelRow = React.memo(PlainRow, (before, after) => {
  const { row: oldRow, ...oldRest } = before;
  const { row: newRow, ...newRest } = after;
  return sameFields(oldRow, newRow) && sameFields(oldRest, newRest);
});

function sameFields<T extends object>(a: T, b: T): boolean {
  return (Object.keys(a) as (keyof T)[]).every(key => a[key] === b[key]);
}

function PlainRow(props: IKernelRowProps): JSX.Element {
  const { row, compact, expanded, selected, current, index, disabled } = props;
  const { model, trans, locale, commands, execute } = usePanel();
  const key = model.keyOf(row.id);
  const status = (
    <div role="gridcell" className="jp-Vram-Row-status">
      <StateIcon state={row.state} />
      <span className="jp-Vram-ellipsis">
        {compact ? row.shortStatus : row.status}
      </span>
      {!compact && row.uuids !== '' && (
        <span className="jp-Vram-Row-gpus jp-Vram-ellipsis" title={row.gpus}>
          {trans.__('· %1', row.gpus)}
        </span>
      )}
    </div>
  );
  const size = (
    <div role="gridcell" className="jp-Vram-Row-size jp-Vram-number">
      <b>
        {compact
          ? formatBytes(row.bytes, {
              bare: true,
              approximate: row.approximate,
              locale
            })
          : row.size}
      </b>
    </div>
  );
  const actions = (
    <div role="gridcell" className="jp-Vram-Row-end">
      {!compact && <Sparkline path={props.spark} kernelKey={key} />}
      <span className="jp-Vram-Row-actions">
        <CommandButton
          command={
            row.state === 'parked' ? CommandIDs.restore : CommandIDs.free
          }
          args={{ kernelId: row.id }}
          disabled={disabled}
          tabIndex={-1}
        >
          {row.state === 'parked' ? trans.__('Restore') : trans.__('Free…')}
        </CommandButton>
        {hasKernelMenu(commands) && (
          <button
            className="jp-Vram-IconButton"
            tabIndex={-1}
            disabled={disabled}
            aria-haspopup="menu"
            aria-label={trans.__('More for %1', row.name)}
            title={trans.__('More')}
            onClick={event =>
              openKernelMenuAt(commands, row.id, event.currentTarget)
            }
          >
            <ellipsesIcon.react tag="span" className="jp-Vram-Icon" />
          </button>
        )}
      </span>
    </div>
  );
  return (
    <div
      role="row"
      className={`jp-Vram-Row${compact ? ' jp-mod-compact' : ''}`}
      aria-level={1}
      aria-expanded={expanded}
      aria-selected={selected}
      aria-rowindex={index}
      aria-label={row.sentence}
      tabIndex={current ? 0 : -1}
      data-kernel={row.id}
      onClick={event => {
        if (isOnButton(event)) {
          return;
        }
        if (isSelecting(event)) {
          props.onSelect?.(row.id);
        } else {
          props.onToggle(row.id);
        }
      }}
      onDoubleClick={event => {
        if (row.path !== null && !isOnButton(event) && !isSelecting(event)) {
          execute(CommandIDs.openNotebook, { kernelId: row.id });
        }
      }}
      onContextMenu={event => {
        event.preventDefault();
        if (!disabled) {
          openKernelMenu(commands, row.id, event.clientX, event.clientY);
        }
      }}
    >
      {key ? (
        <KernelKey kernelKey={key} parked={row.state === 'parked'} />
      ) : (
        <span aria-hidden="true" />
      )}
      <div
        role="gridcell"
        className="jp-Vram-Row-name jp-Vram-ellipsis"
        title={row.path ?? row.name}
      >
        {compact ? row.name.replace(/\.ipynb$/, '') : row.name}
      </div>
      {compact ? (
        <>
          {status}
          {actions}
          <div
            role="gridcell"
            className="jp-Vram-Row-gpus jp-Vram-number jp-Vram-muted"
          >
            {row.gpus.replace(/^\D+/, '')}
          </div>
          {size}
        </>
      ) : (
        <>
          {size}
          {status}
          {actions}
        </>
      )}
    </div>
  );
}

function isOnButton({ target }: React.MouseEvent): boolean {
  return (target as Element).closest('button') !== null;
}

/** Ctrl, or on a Mac Cmd: what selects several things elsewhere, too. */
function isSelecting({ ctrlKey, metaKey }: React.MouseEvent): boolean {
  return ctrlKey || metaKey;
}

/** The state as a shape; the word stands beside it. */
export function StateIcon({ state }: { state: RowState }): JSX.Element {
  switch (state) {
    case 'long-idle':
      return (
        <longIdleIcon.react tag="span" className="jp-Vram-Icon jp-mod-inline" />
      );
    case 'parked':
      return (
        <parkedIcon.react tag="span" className="jp-Vram-Icon jp-mod-inline" />
      );
    default:
      return (
        <span className={`jp-Vram-Dot jp-mod-${state}`} aria-hidden="true" />
      );
  }
}
