import type { LabIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { failIcon, noteIcon, warnIcon } from '../icons';

const ICONS: Record<'note' | 'warn' | 'fail', LabIcon> = {
  note: noteIcon,
  warn: warnIcon,
  fail: failIcon
};

/** A framed sentence with an icon. */
export function Banner(props: {
  tone: keyof typeof ICONS;
  children: React.ReactNode;
  /** `status`: announced when it appears. */
  role?: 'status' | 'alert';
}): JSX.Element {
  const Icon = ICONS[props.tone].react;
  return (
    <div
      className={`jp-Vram-FreeBanner jp-mod-${props.tone}`}
      role={props.role}
    >
      <Icon tag="span" className="jp-Vram-FreeIcon" aria-hidden="true" />
      <div>{props.children}</div>
    </div>
  );
}
