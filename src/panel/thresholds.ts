import { Dialog, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { Config, Thresholds } from '../service/wire';
import type { IVramModel } from '../tokens';

import '../../style/panel.css';

/** What the dialog edits. */
export type Limits = Pick<
  Config,
  'interval' | 'thresholds' | 'park_ticked' | 'ask_kernels'
>;

interface IField {
  readonly label: string;
  /** As shown. */
  readonly value: number;
  readonly min: number;
  readonly max: number;
}

type Name = keyof Thresholds | 'interval';

/** The numbers as people write them: percent and minutes. */
function fields(
  trans: TranslationBundle,
  { interval, thresholds }: Limits
): { [name in Name]: IField } {
  const percent = (share: number): number => Math.round(share * 1000) / 10;
  return {
    high: {
      label: trans.__('A GPU counts as nearly full from (% of its memory)'),
      value: percent(thresholds.high),
      min: 1,
      max: 100
    },
    hot: {
      label: trans.__(
        'A GPU that names no limit of its own counts as hot from (°C)'
      ),
      value: thresholds.hot,
      min: 30,
      max: 130
    },
    long_idle: {
      label: trans.__('A kernel counts as long idle from (minutes)'),
      value: Math.round(thresholds.long_idle / 6) / 10,
      min: 1,
      max: 100000
    },
    hint: {
      label: trans.__(
        'A long-idle kernel is pointed out if it holds (% of a nearly full GPU)'
      ),
      value: percent(thresholds.hint),
      min: 0,
      max: 100
    },
    interval: {
      label: trans.__('Time between two readings (seconds)'),
      value: interval,
      min: 0.25,
      max: 60
    }
  };
}

type Switch = 'park_ticked' | 'ask_kernels';

/** What is on or off. */
function switches(trans: TranslationBundle): { [name in Switch]: string } {
  return {
    park_ticked: trans.__(
      'Plans open with “Park” ticked, where everything can move'
    ),
    ask_kernels: trans.__(
      'Kernels are asked how much they hold, where the driver does not tell'
    )
  };
}

/** The dialog's form. */
export class ThresholdsForm
  extends Widget
  implements Dialog.IBodyWidget<Limits | string>
{
  constructor(trans: TranslationBundle, limits: Limits) {
    super();
    this.addClass('jp-Vram-Thresholds');
    const note = document.createElement('p');
    note.textContent = trans.__(
      'These settings are the server’s: they hold for everybody who uses it.'
    );
    this.node.append(note);
    for (const [name, field] of Object.entries(fields(trans, limits))) {
      const label = document.createElement('label');
      const input = document.createElement('input');
      input.type = 'number';
      input.required = true;
      input.className = 'jp-mod-styled';
      input.min = `${field.min}`;
      input.max = `${field.max}`;
      // Fractions are fine.
      input.step = 'any';
      input.value = `${field.value}`;
      label.append(field.label, input);
      this.node.append(label);
      this._inputs.set(name as Name, input);
    }
    for (const [name, label] of Object.entries(switches(trans))) {
      const row = document.createElement('label');
      const input = document.createElement('input');
      input.type = 'checkbox';
      input.checked = limits[name as Switch];
      row.append(label, input);
      this.node.append(row);
      this._switches.set(name as Switch, input);
    }
    this._trans = trans;
  }

  /** The limits, or a sentence on what is wrong with them. */
  getValue(): Limits | string {
    for (const input of this._inputs.values()) {
      if (!input.checkValidity()) {
        return this._trans.__(
          '“%1” needs a number from %2 to %3.',
          input.parentElement!.textContent!,
          input.min,
          input.max
        );
      }
    }
    const read = (name: Name): number => this._inputs.get(name)!.valueAsNumber;
    return {
      interval: read('interval'),
      thresholds: {
        high: read('high') / 100,
        hot: read('hot'),
        long_idle: read('long_idle') * 60,
        hint: read('hint') / 100
      },
      park_ticked: this._switches.get('park_ticked')!.checked,
      ask_kernels: this._switches.get('ask_kernels')!.checked
    };
  }

  private readonly _trans: TranslationBundle;
  private readonly _inputs = new Map<Name, HTMLInputElement>();
  private readonly _switches = new Map<Switch, HTMLInputElement>();
}

/** Ask for the thresholds and set them on the server. Rejects where the server refuses them. */
export async function editThresholds(
  model: IVramModel,
  trans: TranslationBundle
): Promise<void> {
  if (model.config === null) {
    await showErrorMessage(
      trans.__('Thresholds'),
      trans.__(
        'The server’s settings have not been read yet. Open the GPU memory panel and try again.'
      )
    );
    return;
  }
  const { value, button } = await showDialog<Limits | string>({
    title: trans.__('Thresholds'),
    body: new ThresholdsForm(trans, model.config),
    buttons: [
      Dialog.cancelButton(),
      Dialog.okButton({ label: trans.__('Save') })
    ]
  });
  if (!button.accept || value === null) {
    return;
  }
  if (typeof value === 'string') {
    await showErrorMessage(trans.__('Thresholds'), value);
    await editThresholds(model, trans);
    return;
  }
  await model.configure(value);
}
