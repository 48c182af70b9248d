import React from 'react';
import { formatAge, formatBytes } from '../format';
import { longIdleIcon } from '../icons';
import type { Snapshot } from '../service/wire';
import { CommandIDs } from '../tokens';
import { CommandButton } from './commandbutton';
import { usePanel } from './context';
import { gpuLabel } from '../gpus';
import type { IHint } from './hint';

/** Stands for the name while the sentence is put together; no file can have it in its name. */
const NAME = '\0';

/** The hint, in a sentence with a way out. Esc dismisses it. */
export function HintLine(props: {
  hint: IHint;
  snapshot: Snapshot;
  name: string;
  disabled: boolean;
  onDismiss: () => void;
}): JSX.Element {
  const { hint, snapshot, name, disabled, onDismiss } = props;
  const { trans, locale } = usePanel();
  const gpu = snapshot.gpus.find(({ uuid }) => uuid === hint.gpu)!;
  const [before, after] = trans
    .__(
      '%1 holds %2 of %3 and has been idle for %4.',
      NAME,
      formatBytes(hint.bytes, { locale }),
      gpuLabel(trans, gpu, snapshot),
      formatAge(trans, hint.idle)
    )
    .split(NAME);
  return (
    <div
      className="jp-Vram-Hint"
      role="note"
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation();
          onDismiss();
        }
      }}
    >
      <longIdleIcon.react tag="span" className="jp-Vram-Icon" />
      <span className="jp-Vram-Hint-text">
        {before}
        <b>{name}</b>
        {after}
      </span>
      <CommandButton
        command={CommandIDs.free}
        args={{ kernelId: hint.kernelId }}
        disabled={disabled}
        label={trans.__('Free memory of %1…', name)}
      >
        {trans.__('Free…')}
      </CommandButton>
      <button
        className="jp-Vram-IconButton"
        aria-label={trans.__('Hide this hint for an hour')}
        title={trans.__('Hide this hint for an hour')}
        onClick={onDismiss}
      >
        ×
      </button>
    </div>
  );
}
