import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import React from 'react';
import { usePanel } from './context';

export interface ICommandButtonProps {
  command: string;
  args: ReadonlyPartialJSONObject;
  disabled: boolean;
  /** What a screen reader says where the text alone says too little. */
  label?: string;
  title?: string;
  tabIndex?: number;
  children: React.ReactNode;
}

/** A button that runs a command; nothing where the plugin that brings the command is disabled. */
export function CommandButton(props: ICommandButtonProps): JSX.Element | null {
  const { commands, execute } = usePanel();
  const { command, args, disabled, label, title, tabIndex, children } = props;
  return commands.hasCommand(command) ? (
    <button
      className="jp-Vram-Button"
      aria-label={label}
      disabled={disabled}
      tabIndex={tabIndex}
      title={title}
      onClick={() => execute(command, args)}
    >
      {children}
    </button>
  ) : null;
}
