import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

/** What a new user asks: what this is good for, and the keys of the list. */
export async function showHelp(trans: TranslationBundle): Promise<void> {
  const points = [
    trans.__(
      'See which notebook holds the GPU’s memory. “—” stands for a size that the driver does not tell.'
    ),
    trans.__(
      '“Free…” opens a plan and changes nothing. Its button runs what is ticked, then tells what came back.'
    ),
    trans.__(
      'Restart or shut down any kernel, whether its notebook is open or not, and see that its memory is back.'
    ),
    trans.__('End processes that a kernel has left behind.'),
    trans.__(
      'Open a GPU’s history, or all kernels as a table in the main area.'
    )
  ];
  const keys: [string, string][] = [
    ['↑ ↓', trans.__('Go to another kernel; a letter finds one by its name')],
    ['→ ←', trans.__('Open and close details, reach the buttons of the row')],
    ['F', trans.__('Free… this kernel’s memory')],
    [
      trans.__('Space'),
      trans.__('Select several; Ctrl or Cmd and click does the same')
    ],
    ['Shift F10', trans.__('Open the kernel’s menu')]
  ];
  await showDialog({
    title: trans.__('What this panel can do'),
    body: (
      <div className="jp-Vram-Help">
        <ul>
          {points.map(point => (
            <li key={point}>{point}</li>
          ))}
        </ul>
        <h3>{trans.__('Keys in the list of kernels')}</h3>
        <dl>
          {keys.map(([key, meaning]) => (
            <React.Fragment key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </React.Fragment>
          ))}
        </dl>
      </div>
    ),
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}
