import { caretDownIcon, caretRightIcon } from '@jupyterlab/ui-components';
import React from 'react';

export interface ISectionProps {
  title: string;
  /** What stands at the end of the title. */
  figure?: string;
  open: boolean;
  onToggle: () => void;
  /** A smaller title, for a part of the part above. */
  minor?: boolean;
  /** Beside the title, outside of its button. */
  tools?: React.ReactNode;
  children?: React.ReactNode;
}

/** A part of the panel that folds. */
export function Section(props: ISectionProps): JSX.Element {
  const { title, figure, open, onToggle, minor, tools, children } = props;
  const Caret = open ? caretDownIcon : caretRightIcon;
  return (
    <div role="group" aria-label={title}>
      <div className={`jp-Vram-Title${minor ? ' jp-mod-minor' : ''}`}>
        <button aria-expanded={open} onClick={onToggle}>
          <Caret.react
            tag="span"
            className={`jp-Vram-Icon${open ? '' : ' jp-mod-forward'}`}
          />
          <span className="jp-Vram-ellipsis">{title}</span>
          <span className="jp-Vram-number jp-Vram-end jp-Vram-muted">
            {figure}
          </span>
        </button>
        {tools}
      </div>
      {open && children}
    </div>
  );
}
