import React from 'react';
import { openKernelMenuAt } from '../kernelmenu';
import type { Snapshot } from '../service/wire';
import { CommandIDs } from '../tokens';
import { usePanel } from './context';
import { KernelDetail } from './kerneldetail';
import { KernelRow } from './kernelrow';
import type { IKernelRow } from './rows';
import { sparklinePath } from './sparkline';
import { gridMove } from './treegrid';
import { useVisibleRange } from './windowed';

export interface IKernelGridProps {
  label: string;
  snapshot: Snapshot;
  rows: readonly IKernelRow[];
  compact: boolean;
  expanded: ReadonlySet<string>;
  disabled: boolean;
  onToggle: (kernelId: string) => void;
  /** Left out where there is nothing to select rows for. */
  selection?: {
    readonly selected: ReadonlySet<string>;
    readonly onSelect: (kernelId: string) => void;
  };
  /** A kernel to scroll to and focus; a new object asks again. */
  target: { readonly kernelId: string } | null;
}

/** Height of an open detail that has not been drawn yet, in pixels. */
const DETAIL_HEIGHT = 110;

/** The kernels as a tree grid: one Tab stop, arrows inside. */
export function KernelGrid(props: IKernelGridProps): JSX.Element {
  const { label, snapshot, rows, compact, expanded, disabled } = props;
  const { onToggle, selection } = props;
  const { model, trans, commands, execute } = usePanel();
  const grid = React.useRef<HTMLDivElement>(null);
  const details = React.useRef(new Map<string, number>());
  const [current, setCurrent] = React.useState<string | null>(null);
  const [rowHeight, setRowHeight] = React.useState(compact ? 22 : 46);
  // A row that keys or a click elsewhere lead to; it may have to be drawn first.
  const pending = React.useRef<string | null>(null);

  const heights = rows.map(
    ({ id }) =>
      rowHeight +
      (expanded.has(id) ? (details.current.get(id) ?? DETAIL_HEIGHT) : 0)
  );
  const [first, end] = useVisibleRange(grid, heights);
  const currentId = rows.some(({ id }) => id === current)
    ? current
    : (rows[0]?.id ?? null);

  // React moves rows in the document when sizes change places, which takes the focus from them.
  const focused = grid.current?.contains(document.activeElement)
    ? (document.activeElement as HTMLElement)
    : null;
  React.useLayoutEffect(() => {
    if (
      focused &&
      document.activeElement !== focused &&
      grid.current?.contains(focused)
    ) {
      focused.focus({ preventScroll: true });
    }
    for (const id of expanded) {
      const detail = document.getElementById(detailId(id));
      if (detail && detail.offsetHeight > 0) {
        details.current.set(id, detail.offsetHeight);
      }
    }
    const height = grid.current?.querySelector<HTMLElement>('.jp-Vram-Row');
    if (height && height.offsetHeight > 0) {
      setRowHeight(height.offsetHeight);
    }
    if (pending.current !== null) {
      const row = find(grid.current, pending.current);
      pending.current = null;
      row?.focus();
      row?.scrollIntoView({ block: 'nearest' });
    }
  });

  const go = (id: string): void => {
    pending.current = id;
    setCurrent(id);
  };
  const { target } = props;
  React.useLayoutEffect(() => {
    if (target && rows.some(({ id }) => id === target.kernelId)) {
      go(target.kernelId);
    }
  }, [target]);

  const onKeyDown = (event: React.KeyboardEvent): void => {
    const element = event.target as HTMLElement;
    const id = element.closest<HTMLElement>('[data-kernel]')?.dataset.kernel;
    const position = rows.findIndex(row => row.id === id);
    if (id === undefined || position < 0) {
      return;
    }
    const row = find(grid.current, id)!;
    const buttons = [
      ...grid.current!.querySelectorAll<HTMLButtonElement>(
        `[data-kernel="${CSS.escape(id)}"] button:enabled`
      )
    ];
    const move = gridMove(
      event,
      {
        row: position,
        count: rows.length,
        expanded: expanded.has(id),
        inside: element !== row,
        rightToLeft: getComputedStyle(row).direction === 'rtl'
      },
      rows.map(({ name }) => name)
    );
    if (move === null) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    switch (move.kind) {
      case 'focus':
        go(rows[move.row].id);
        break;
      case 'toggle':
        onToggle(id);
        break;
      case 'select':
        selection?.onSelect(id);
        break;
      case 'first-action':
        buttons[0]?.focus();
        break;
      case 'action':
        (
          buttons[buttons.indexOf(element as HTMLButtonElement) + move.step] ??
          row
        ).focus();
        break;
      case 'row':
        row.focus();
        break;
      case 'plan':
        if (!disabled && commands.hasCommand(CommandIDs.free)) {
          execute(CommandIDs.free, { kernelId: id });
        }
        break;
      case 'menu':
        if (!disabled) {
          openKernelMenuAt(commands, id, row);
        }
        break;
    }
  };

  const drawn: JSX.Element[] = [];
  let gap = 0;
  const closeGap = (key: string): void => {
    if (gap > 0) {
      drawn.push(
        <div key={`gap ${key}`} aria-hidden="true" style={{ height: gap }} />
      );
      gap = 0;
    }
  };
  rows.forEach((row, i) => {
    if ((i < first || i >= end) && row.id !== currentId) {
      gap += heights[i];
      return;
    }
    closeGap(row.id);
    drawn.push(
      <KernelRow
        key={row.id}
        row={row}
        compact={compact}
        expanded={expanded.has(row.id)}
        selected={selection?.selected.has(row.id)}
        current={row.id === currentId}
        index={i + (compact ? 2 : 1)}
        disabled={disabled}
        spark={compact ? '' : sparklinePath(model.sparkline(row.id))}
        onToggle={onToggle}
        onSelect={selection?.onSelect}
      />
    );
    if (expanded.has(row.id)) {
      drawn.push(
        <div
          key={`detail ${row.id}`}
          id={detailId(row.id)}
          role="row"
          aria-level={2}
          data-kernel={row.id}
          aria-label={trans.__('Details of %1', row.name)}
        >
          <div role="gridcell" aria-colspan={compact ? 5 : 4}>
            <KernelDetail
              kernel={snapshot.kernels.find(({ id }) => id === row.id)!}
              holders={snapshot.holders.filter(
                ({ kernel_id, kind }) =>
                  kernel_id === row.id && kind === 'kernel'
              )}
              takenAt={snapshot.taken_at}
              disabled={disabled}
            />
          </div>
        </div>
      );
    }
  });
  closeGap('end');

  return (
    <div
      ref={grid}
      role="treegrid"
      className="jp-Vram-Grid"
      aria-label={label}
      aria-multiselectable={selection && true}
      aria-rowcount={rows.length + (compact ? 1 : 0)}
      onKeyDown={onKeyDown}
      onFocus={event => {
        const row = event.target.closest<HTMLElement>('[data-kernel]');
        if (row) {
          setCurrent(row.dataset.kernel!);
        }
      }}
    >
      {compact && (
        <div
          role="row"
          className="jp-Vram-Row jp-mod-compact jp-mod-head"
          aria-rowindex={1}
        >
          <span aria-hidden="true" />
          <div role="columnheader">{trans.__('Kernel')}</div>
          <div role="columnheader">{trans.__('Status')}</div>
          <div role="columnheader" className="jp-Vram-hidden">
            {trans.__('Actions')}
          </div>
          <div role="columnheader" className="jp-Vram-Row-gpus">
            {trans.__('GPU')}
          </div>
          <div
            role="columnheader"
            className="jp-Vram-Row-size"
            aria-sort="descending"
          >
            {trans.__('GiB ▾')}
          </div>
        </div>
      )}
      {drawn}
    </div>
  );
}

function detailId(kernelId: string): string {
  return `jp-vram-detail-${kernelId}`;
}

/** The kernel's row; its open detail comes after it. */
function find(grid: HTMLElement | null, kernelId: string): HTMLElement | null {
  return (
    grid?.querySelector<HTMLElement>(
      `[data-kernel="${CSS.escape(kernelId)}"]`
    ) ?? null
  );
}
