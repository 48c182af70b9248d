import React from 'react';
import { absentIcon, failIcon, noteIcon, vramIcon, warnIcon } from '../icons';
import { usePanel } from './context';
import type { IBanner, IEmptyState, IStateButton } from './states';

export interface INoticeProps<T> {
  notice: T;
  onButton: (button: IStateButton) => void;
}

/** A note above the cards. */
export function Banner(props: INoticeProps<IBanner>): JSX.Element {
  const { tone, text, button } = props.notice;
  const Icon = { error: failIcon, warn: warnIcon, info: noteIcon }[tone];
  return (
    <div
      className={`jp-Vram-Note jp-mod-${tone}`}
      role={tone === 'error' ? 'alert' : 'note'}
    >
      <Icon.react tag="span" className="jp-Vram-Icon" />
      <span>
        {text}{' '}
        {button && (
          <button
            className="jp-Vram-Link"
            onClick={() => props.onButton(button)}
          >
            {button.label}
          </button>
        )}
      </span>
    </div>
  );
}

/** What fills the panel when there is nothing to show. */
export function Empty(props: INoticeProps<IEmptyState>): JSX.Element {
  const { notice, onButton } = props;
  const { trans } = usePanel();
  return (
    <>
      {notice.skeleton && (
        <div className="jp-Vram-Skeleton">
          <b>{trans.__('Looking for GPUs…')}</b>
          <span style={{ width: '60%' }} />
          <span className="jp-mod-bar" />
          <span style={{ width: '40%' }} />
        </div>
      )}
      <div className="jp-Vram-Empty">
        <vramIcon.react tag="span" className="jp-Vram-Icon" />
        <h3>{notice.title}</h3>
        <p>{notice.text}</p>
        {notice.code !== null && (
          <p>
            <code>{notice.code}</code>
          </p>
        )}
        {notice.tried.length > 0 && (
          <ul className="jp-Vram-Tried" aria-label={trans.__('What was tried')}>
            {notice.tried.map(sentence => (
              <li key={sentence}>
                <absentIcon.react
                  tag="span"
                  className="jp-Vram-Icon jp-mod-inline"
                />
                <span>{sentence}</span>
              </li>
            ))}
          </ul>
        )}
        <div className="jp-Vram-Empty-buttons">
          {notice.buttons.map(button => (
            <button
              key={button.action}
              className={
                button.action === 'simulate' ? 'jp-Vram-Link' : 'jp-Vram-Button'
              }
              onClick={() => onButton(button)}
            >
              {button.label}
            </button>
          ))}
        </div>
      </div>
    </>
  );
}
