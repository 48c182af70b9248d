import React from 'react';
import { formatBytes } from '../format';
import { sumOfKnown } from '../sums';
import { CommandIDs } from '../tokens';
import { CommandButton } from './commandbutton';
import { usePanel } from './context';
import type { IKernelRow } from './rows';

/** What is selected, and the one click for all of it; nothing while nothing is. */
export function SelectionLine(props: {
  /** The selected rows among those on screen. */
  rows: readonly IKernelRow[];
  disabled: boolean;
  onClear: () => void;
}): JSX.Element | null {
  const { rows, disabled, onClear } = props;
  const { trans, locale } = usePanel();
  if (rows.length === 0) {
    return null;
  }
  const size = formatBytes(sumOfKnown(rows.map(({ bytes }) => bytes)), {
    approximate: rows.some(({ approximate }) => approximate),
    locale
  });
  return (
    <div
      className="jp-Vram-Selection"
      role="group"
      aria-label={trans.__('Selected kernels')}
    >
      <span className="jp-Vram-number">
        {trans._n('%1 selected · %2', '%1 selected · %2', rows.length, size)}
      </span>
      <span className="jp-Vram-Selection-actions">
        <CommandButton
          command={CommandIDs.freeSeveral}
          args={{ kernelIds: rows.map(({ id }) => id) }}
          disabled={disabled}
        >
          {trans.__('Free %1…', rows.length)}
        </CommandButton>
        <button className="jp-Vram-Button" onClick={onClear}>
          {trans.__('Clear')}
        </button>
      </span>
    </div>
  );
}
