import {
  MenuSvg,
  pauseIcon,
  runIcon,
  settingsIcon
} from '@jupyterlab/ui-components';
import React from 'react';
import { failIcon, unpluggedIcon } from '../icons';
import { CommandIDs } from '../tokens';
import { SET_DENSITY } from './commands';
import type { IPanelContext } from './context';
import { usePanel } from './context';
import type { IPanelState } from './states';

export interface IHeaderProps {
  state: IPanelState;
  paused: boolean;
  simulated: boolean;
}

/** The panel's title line, and the ribbon that says that nothing here is real. */
export function Header(props: IHeaderProps): JSX.Element {
  const { state, paused, simulated } = props;
  const context = usePanel();
  const { trans, execute } = context;
  const icon = {
    className: 'jp-Vram-Icon jp-mod-inline',
    tag: 'span'
  } as const;
  return (
    <>
      <div className="jp-Vram-Head">
        <h2>{trans.__('GPU memory')}</h2>
        <span className="jp-Vram-Fresh">
          {state.icon === 'error' && <failIcon.react {...icon} />}
          {state.icon === 'unplugged' && <unpluggedIcon.react {...icon} />}
          {state.word}
        </span>
        {state.pausable && (
          <button
            className="jp-Vram-IconButton"
            aria-pressed={paused}
            aria-label={trans.__('Pause updates')}
            title={
              paused ? trans.__('Resume updates') : trans.__('Pause updates')
            }
            onClick={() => execute(CommandIDs.togglePause)}
          >
            {paused ? (
              <runIcon.react tag="span" className="jp-Vram-Icon" />
            ) : (
              <pauseIcon.react tag="span" className="jp-Vram-Icon" />
            )}
          </button>
        )}
        <button
          className="jp-Vram-IconButton"
          aria-haspopup="menu"
          aria-label={trans.__('GPU memory settings')}
          title={trans.__('GPU memory settings')}
          onClick={event => openSettings(context, event.currentTarget)}
        >
          <settingsIcon.react tag="span" className="jp-Vram-Icon" />
        </button>
      </div>
      {simulated && (
        <div className="jp-Vram-Ribbon">
          <span>
            <b>{trans.__('SIMULATED')}</b>{' '}
            <span>{trans.__('· no real GPU')}</span>
          </span>
          <button
            className="jp-Vram-Link"
            onClick={() => execute(CommandIDs.simulate, { on: false })}
          >
            {trans.__('Turn off')}
          </button>
        </div>
      )}
    </>
  );
}

function openSettings(
  { commands, trans }: IPanelContext,
  anchor: HTMLElement
): void {
  const menu = new MenuSvg({ commands });
  const density = new MenuSvg({ commands });
  density.title.label = trans.__('Density');
  for (const value of ['auto', 'normal', 'compact']) {
    density.addItem({ command: SET_DENSITY, args: { density: value } });
  }
  const editor = 'settingeditor:open';
  if (commands.hasCommand(editor)) {
    menu.addItem({
      command: editor,
      args: { query: trans.__('GPU memory'), label: trans.__('Settings…') }
    });
  }
  menu.addItem({ command: CommandIDs.thresholds, args: { menu: true } });
  menu.addItem({ command: CommandIDs.openMain, args: { menu: true } });
  menu.addItem({ type: 'submenu', submenu: density });
  menu.aboutToClose.connect(() => {
    // The chosen command runs after this signal, in the same task.
    setTimeout(() => {
      menu.dispose();
      if (document.activeElement === document.body) {
        anchor.focus();
      }
    });
  }, menu);
  const { left, bottom } = anchor.getBoundingClientRect();
  menu.open(left, bottom);
}
