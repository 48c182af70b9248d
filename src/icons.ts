import { LabIcon } from '@jupyterlab/ui-components';

function draw(name: string, path: string, tone = 'jp-icon3'): LabIcon {
  return new LabIcon({
    name: `jupyterlab-vram:${name}`,
    svgstr:
      '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">' +
      `<path class="${tone}" fill="#616161" d="${path}"/></svg>`
  });
}

/** A memory module; stands for the extension in tabs, menus and empty states. */
export const vramIcon = draw(
  'memory',
  'M2 6h18a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-2v2h-2v-2h-2v2h-2v-2h-2v2H8v-2H4v3H2zm2 2v8h16V8zm2 2h3v4H6zm5 0h3v4h-3zm5 0h2.5v4H16z'
);

/** Nearly full, hot. */
export const warnIcon = draw(
  'warn',
  'M12 2 1 21h22zm1 16h-2v-2h2zm0-4h-2V9h2z',
  'jp-Vram-icon-warn'
);

/** Out of memory, driver error. */
export const failIcon = draw(
  'fail',
  'M12 2C6.5 2 2 6.5 2 12s4.5 10 10 10 10-4.5 10-10S17.5 2 12 2m1 15h-2v-2h2zm0-4h-2V7h2z',
  'jp-Vram-icon-error'
);

/** A cross: looked for and not there. */
export const absentIcon = draw(
  'absent',
  'M19 6.41 17.59 5 12 10.59 6.41 5 5 6.41 10.59 12 5 17.59 6.41 19 12 13.41 17.59 19 19 17.59 13.41 12z',
  'jp-Vram-icon-error'
);

export const noteIcon = draw(
  'note',
  'M12 2C6.5 2 2 6.5 2 12s4.5 10 10 10 10-4.5 10-10S17.5 2 12 2m1 15h-2v-6h2zm0-8h-2V7h2z',
  'jp-Vram-icon-info'
);

export const doneIcon = draw(
  'done',
  'M12 2C6.5 2 2 6.5 2 12s4.5 10 10 10 10-4.5 10-10S17.5 2 12 2m-2 15-5-5 1.4-1.4L10 14.2l7.6-7.6L19 8z',
  'jp-Vram-icon-done'
);

/** Idle for long. */
export const longIdleIcon = draw(
  'long-idle',
  'M12 2C6.5 2 2 6.5 2 12s4.5 10 10 10 10-4.5 10-10S17.5 2 12 2m0 18a8 8 0 1 1 0-16 8 8 0 0 1 0 16m.8-13h-1.6v6l5 3 .8-1.3-4.2-2.5z',
  'jp-Vram-icon-warn'
);

/** The server does not answer. */
export const unpluggedIcon = draw(
  'unplugged',
  'M16 7V3h-2v4h-4V3H8v4a2 2 0 0 0-2 2v5l4 4v3h4v-3l4-4V9a2 2 0 0 0-2-2',
  'jp-Vram-icon-warn'
);

/** Moved to host RAM. */
export const parkedIcon = draw(
  'parked',
  'M11 3h2v9.2l3.1-3.1 1.4 1.4L12 16l-5.5-5.5 1.4-1.4 3.1 3.1zM3 15h2v4h14v-4h2v6H3z'
);

/** Size unknown. */
export const unknownIcon = draw(
  'unknown',
  'M12 2C6.5 2 2 6.5 2 12s4.5 10 10 10 10-4.5 10-10S17.5 2 12 2m1 17h-2v-2h2zm2-7.8-.9 1c-.8.8-1.1 1.4-1.1 2.8h-2v-.5c0-1.1.5-2.1 1.2-2.8l1.2-1.3c.4-.3.6-.8.6-1.4a2 2 0 1 0-4 0H8a4 4 0 1 1 8 0c0 .9-.4 1.7-1 2.2'
);
