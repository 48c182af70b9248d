import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog } from '@jupyterlab/apputils';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import * as mockup from '../../__tests__/mockup';
import { CommandIDs } from '../../tokens';
import { addCommands, SET_DENSITY } from '../commands';
import type { IPanelContext } from '../context';
import { VramPanel } from '../panel';
import { ThresholdsForm } from '../thresholds';
import { FakeModel } from './fakemodel';

const trans = nullTranslator.load('jupyterlab_vram');

function setUp() {
  const model = new FakeModel(mockup.panel());
  const commands = new CommandRegistry();
  const failures: unknown[] = [];
  const settings: { current: unknown } = { current: null };
  const context: IPanelContext = {
    model,
    trans,
    locale: 'en',
    commands,
    themes: null,
    report: work => {
      work.catch((reason: unknown) => failures.push(reason));
    },
    execute: (command, args) => void commands.execute(command, args)
  };
  const panel = new VramPanel(context);
  panel.hide();
  Widget.attach(panel, document.body);
  const shell = {
    activateById: () => panel.show(),
    widgets: (area: string) =>
      (area === 'right' ? [panel] : [])[Symbol.iterator](),
    collapseRight: () => panel.hide()
  };
  addCommands({
    app: { commands, shell } as unknown as JupyterFrontEnd,
    context,
    panel,
    palette: null,
    settings: () => settings.current as ISettingRegistry.ISettings | null,
    hasMainArea: false
  });
  return { model, commands, panel, failures, settings };
}

describe('the commands', () => {
  it('describe their arguments', async () => {
    const { commands } = setUp();
    for (const id of commands.listCommands()) {
      const { args } = await commands.describedBy(id);
      expect([id, args?.type]).toEqual([id, 'object']);
    }
  });

  it('show and hide the panel, whose content comes when it is first seen', async () => {
    const { commands, panel, model, failures } = setUp();
    expect(panel.widgets).toHaveLength(0);
    await commands.execute(CommandIDs.open);
    await import('../body');
    await new Promise(resolve => setTimeout(resolve));
    expect(panel.widgets).toHaveLength(1);
    MessageLoop.flush();
    expect(model.watches).toBe(1);
    expect(commands.isToggled(CommandIDs.open)).toBe(true);
    await commands.execute(CommandIDs.open);
    expect(panel.isVisible).toBe(false);
    expect(model.watches).toBe(0);
    expect(failures).toEqual([]);
    panel.dispose();
  });

  it('pause and resume', async () => {
    const { commands, model } = setUp();
    await commands.execute(CommandIDs.togglePause);
    expect(model.status).toBe('paused');
    await commands.execute(CommandIDs.togglePause);
    expect(model.status).toBe('live');
  });

  it('turn the simulated GPU on only after asking, and off at once', async () => {
    const { commands, model } = setUp();
    for (const accept of [false, true]) {
      const done = commands.execute(CommandIDs.simulate, { on: true });
      while (Dialog.tracker.currentWidget === null) {
        await new Promise(resolve => setTimeout(resolve));
      }
      const dialog = Dialog.tracker.currentWidget;
      if (accept) {
        dialog.resolve();
      } else {
        dialog.reject();
      }
      await done;
      expect(model.calls).toEqual(
        accept ? ['configure {"source":"simulated"}'] : []
      );
    }
    await commands.execute(CommandIDs.simulate, { on: false });
    expect(model.calls[1]).toBe('configure {"source":"auto"}');
  });

  it('offer no table where there is no main area', () => {
    const { commands } = setUp();
    expect(commands.isVisible(CommandIDs.openMain)).toBe(false);
  });

  it('set one of three densities, once the settings are there', async () => {
    const { commands, settings } = setUp();
    const set = (density: string) => commands.execute(SET_DENSITY, { density });
    expect(commands.isEnabled(SET_DENSITY, { density: 'auto' })).toBe(false);
    await expect(set('auto')).rejects.toThrow('not been read');
    const written: unknown[] = [];
    settings.current = {
      composite: { density: 'compact' },
      set: async (...change: unknown[]) => written.push(change)
    };
    await expect(set('tiny')).rejects.toThrow('auto, normal, compact');
    await set('normal');
    expect(written).toEqual([['density', 'normal']]);
    expect(commands.isToggled(SET_DENSITY, { density: 'compact' })).toBe(true);
  });
});

describe('ThresholdsForm', () => {
  const limits = {
    interval: 1,
    thresholds: { high: 0.9, hot: 80, long_idle: 3600, hint: 0.1 },
    park_ticked: false,
    ask_kernels: true
  };

  let form: ThresholdsForm;

  beforeEach(() => {
    form = new ThresholdsForm(trans, limits);
  });

  afterEach(() => {
    form.dispose();
  });

  it('shows percent and minutes, and gives back what it was given', () => {
    const inputs = [
      ...form.node.querySelectorAll<HTMLInputElement>('input[type="number"]')
    ];
    expect(inputs.map(({ value }) => value)).toEqual([
      '90',
      '80',
      '60',
      '10',
      '1'
    ]);
    expect(form.getValue()).toEqual(limits);
  });

  it('turns parking and asking on and off', () => {
    const [park, ask] = form.node.querySelectorAll<HTMLInputElement>(
      'input[type="checkbox"]'
    );
    expect([park.checked, ask.checked]).toEqual([false, true]);
    park.click();
    ask.click();
    expect(form.getValue()).toEqual({
      ...limits,
      park_ticked: true,
      ask_kernels: false
    });
  });

  it('says in a sentence which number is wrong', () => {
    const [high] = form.node.querySelectorAll('input');
    for (const wrong of ['', '101', '0']) {
      high.value = wrong;
      expect(form.getValue()).toBe(
        '“A GPU counts as nearly full from (% of its memory)” needs a number from 1 to 100.'
      );
    }
  });
});
