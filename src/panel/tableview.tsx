import { ellipsesIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { formatBytes } from '../format';
import { KernelKey } from '../kernelkey';
import { hasKernelMenu, openKernelMenuAt } from '../kernelmenu';
import { CommandIDs } from '../tokens';
import { CommandButton } from './commandbutton';
import { usePanel } from './context';
import { GpuRows } from './gpurows';
import { filterRows } from './filters';
import { StateIcon } from './kernelrow';
import { Sparkline, sparklinePath } from './sparkline';
import { COLUMNS, tableRows } from './tablerows';
import type { Column, IOrder, ITableRow } from './tablerows';
import type { IViewProps } from './viewprops';
import { useVisibleRange } from './windowed';

/** Height of a line until one was drawn, in pixels. */
const ROW_HEIGHT = 27;

/** The wide, sortable table of the main area. */
export function TableView(props: IViewProps): JSX.Element {
  const { snapshot, gpus, thresholds, names, stale, view, onView } = props;
  const { trans, locale } = usePanel();
  const [order, setOrder] = React.useState<IOrder>({
    column: 'bytes',
    descending: true
  });
  const body = React.useRef<HTMLTableSectionElement>(null);
  const rows = tableRows(
    filterRows(props.rows.holding, view),
    snapshot.kernels,
    order,
    locale
  );
  const [first, end] = useVisibleRange(
    body,
    rows.map(() => ROW_HEIGHT)
  );
  const words: { [column in Column]: string } = {
    name: trans.__('Kernel'),
    status: trans.__('Status'),
    gpu: trans.__('GPU'),
    bytes: trans.__('GiB'),
    live: trans.__('In use'),
    cached: trans.__('Cached')
  };
  return (
    <>
      <GpuRows
        snapshot={snapshot}
        gpus={gpus}
        thresholds={thresholds}
        names={names}
        selected={view.gpu}
        onSelect={gpu => onView({ gpu })}
      />
      <table className="jp-Vram-Table" aria-rowcount={rows.length + 1}>
        <caption className="jp-Vram-hidden">
          {trans.__('Kernels that hold GPU memory')}
        </caption>
        <thead>
          <tr>
            {COLUMNS.map(column => {
              const on = order.column === column;
              return (
                <th
                  key={column}
                  scope="col"
                  className={`jp-mod-${column}`}
                  aria-sort={
                    on
                      ? order.descending
                        ? 'descending'
                        : 'ascending'
                      : undefined
                  }
                >
                  <button
                    onClick={() =>
                      setOrder({
                        column,
                        // Sizes are looked at from the largest, names from A.
                        descending: on
                          ? !order.descending
                          : column !== 'name' && column !== 'gpu'
                      })
                    }
                  >
                    {words[column]}
                    <span aria-hidden="true">
                      {on ? (order.descending ? ' ▾' : ' ▴') : ''}
                    </span>
                  </button>
                </th>
              );
            })}
            <th scope="col">{trans.__('10 min')}</th>
            <th scope="col">
              <span className="jp-Vram-hidden">{trans.__('Actions')}</span>
            </th>
          </tr>
        </thead>
        <tbody ref={body}>
          <Gap height={first * ROW_HEIGHT} />
          {rows.slice(first, end).map((row, i) => (
            <Line
              key={row.id}
              row={row}
              index={first + i + 2}
              disabled={stale}
            />
          ))}
          <Gap height={(rows.length - end) * ROW_HEIGHT} />
        </tbody>
      </table>
      <p className="jp-Vram-Empty-line">
        {trans.__('%1 of %2 shown', rows.length, props.rows.holding.length)}
      </p>
    </>
  );
}

function Gap({ height }: { height: number }): JSX.Element | null {
  return height > 0 ? (
    <tr aria-hidden="true">
      <td colSpan={COLUMNS.length + 2} style={{ height }} />
    </tr>
  ) : null;
}

function Line(props: {
  row: ITableRow;
  index: number;
  disabled: boolean;
}): JSX.Element {
  const { row, index, disabled } = props;
  const { model, trans, locale, commands, execute } = usePanel();
  const key = model.keyOf(row.id);
  const figure = (bytes: number | null, approximate = false): string =>
    formatBytes(bytes, { bare: true, approximate, locale });
  return (
    <tr
      aria-rowindex={index}
      style={{ height: ROW_HEIGHT }}
      onContextMenu={event => {
        event.preventDefault();
        if (!disabled) {
          openKernelMenuAt(commands, row.id, event.currentTarget);
        }
      }}
    >
      <th scope="row" title={row.path ?? row.name}>
        <span className="jp-Vram-Table-name">
          {key && <KernelKey kernelKey={key} parked={row.state === 'parked'} />}
          {row.path === null ? (
            row.name
          ) : (
            <button
              className="jp-Vram-Link"
              onClick={() =>
                execute(CommandIDs.openNotebook, { kernelId: row.id })
              }
            >
              {row.name}
            </button>
          )}
        </span>
      </th>
      <td className="jp-mod-status">
        <StateIcon state={row.state} />
        {row.status}
      </td>
      <td className="jp-mod-gpu">{row.gpus.replace(/^\D+/, '')}</td>
      <td className="jp-mod-bytes">
        <b>{figure(row.bytes, row.approximate)}</b>
      </td>
      <td className="jp-mod-live">{figure(row.live)}</td>
      <td className="jp-mod-cached">{figure(row.cached)}</td>
      <td>
        <Sparkline
          path={sparklinePath(model.sparkline(row.id))}
          kernelKey={key}
        />
      </td>
      <td className="jp-Vram-Table-actions">
        <CommandButton
          command={CommandIDs.free}
          args={{ kernelId: row.id }}
          disabled={disabled}
          label={trans.__('Free memory of %1…', row.name)}
        >
          {trans.__('Free…')}
        </CommandButton>
        {hasKernelMenu(commands) && (
          <button
            className="jp-Vram-IconButton"
            disabled={disabled}
            aria-haspopup="menu"
            aria-label={trans.__('More for %1', row.name)}
            onClick={event =>
              openKernelMenuAt(commands, row.id, event.currentTarget)
            }
          >
            <ellipsesIcon.react tag="span" className="jp-Vram-Icon" />
          </button>
        )}
      </td>
    </tr>
  );
}
