import type { IThemeManager } from '@jupyterlab/apputils';
import type { CommandRegistry } from '@lumino/commands';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import React from 'react';
import type { ILanguage } from '../language';
import type { IVramModel } from '../tokens';

/** What every part of the panel may use; the same object as long as the widget lives. */
export interface IPanelContext extends ILanguage {
  readonly model: IVramModel;
  readonly commands: CommandRegistry;
  /** Null where the front end has no themes. */
  readonly themes: IThemeManager | null;
  /** Show a failure in a dialog. */
  report(work: Promise<unknown>): void;
  /** Run a command and report its failure. */
  execute(command: string, args?: ReadonlyPartialJSONObject): void;
}

const Context = React.createContext<IPanelContext | null>(null);

export const PanelProvider = Context.Provider;

/** The panel's surroundings; throws outside of a `PanelProvider`. */
export function usePanel(): IPanelContext {
  const context = React.useContext(Context);
  if (context === null) {
    throw new Error('This component belongs inside the GPU memory panel.');
  }
  return context;
}
