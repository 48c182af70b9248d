import { closeIcon, searchIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { formatAge } from '../format';
import { usePanel } from './context';
import type { IView } from './view';

/** Narrows the kernel list by GPU, idleness and name. */
export function FilterLine(props: {
  view: IView;
  /** What the GPU of `view.gpu` is called. */
  gpuLabel: string | null;
  /** Seconds from which a kernel counts as long idle. */
  longIdle: number;
  onChange: (change: Partial<IView>) => void;
}): JSX.Element {
  const { view, gpuLabel, longIdle, onChange } = props;
  const { trans } = usePanel();
  return (
    <div
      className="jp-Vram-Filter"
      role="group"
      aria-label={trans.__('Filter kernels')}
    >
      <searchIcon.react tag="span" className="jp-Vram-Icon jp-mod-inline" />
      {gpuLabel !== null && (
        <button
          className="jp-Vram-Chip"
          aria-label={trans.__(
            'Show every GPU’s kernels, not only %1',
            gpuLabel
          )}
          onClick={() => onChange({ gpu: null })}
        >
          {gpuLabel}
          <closeIcon.react tag="span" className="jp-Vram-Icon jp-mod-inline" />
        </button>
      )}
      <button
        className="jp-Vram-Chip"
        aria-pressed={view.longIdleOnly}
        onClick={() => onChange({ longIdleOnly: !view.longIdleOnly })}
      >
        {trans.__('Idle ≥ %1', formatAge(trans, longIdle))}
      </button>
      <input
        type="text"
        aria-label={trans.__('Filter by name')}
        placeholder={trans.__('Filter by name')}
        value={view.name}
        onChange={event => onChange({ name: event.target.value })}
        onKeyDown={event => {
          if (event.key === 'Escape') {
            onChange({ name: '', filtering: false });
          }
        }}
      />
    </div>
  );
}
