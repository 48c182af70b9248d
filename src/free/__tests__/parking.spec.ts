import { Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { gib, panel, parked } from '../../__tests__/mockup';
import { KERNEL, report, step } from '../../__tests__/plans';
import { VramRequestError } from '../../service/client';
import type { Report } from '../../service/wire';
import { CommandIDs } from '../../tokens';
import { FreeActions } from '../actions';
import { addCommands } from '../commands';
import { FakeModel, fakeApp, language, trans } from './fakes';

const size = (text: string) => text.replace(/ GiB/g, '\u00a0GiB');

let model: FakeModel;
let commands: CommandRegistry;

const toasts = () => Notification.manager.notifications;
const args = { kernelId: KERNEL, menu: true };

/** The only GPU's free memory, in GiB. */
function setFree(free: number): void {
  const reading = model.snapshot!;
  model.snapshot = {
    ...reading,
    gpus: reading.gpus.map(gpu => ({
      ...gpu,
      memory: { ...gpu.memory, free: gib(free) }
    }))
  };
}

beforeEach(() => {
  model = new FakeModel();
  const app = fakeApp();
  commands = app.commands;
  const actions = new FreeActions(
    app,
    model,
    language,
    nullTranslator.load('jupyterlab')
  );
  addCommands({
    app,
    model,
    tracker: null,
    trans,
    actions: async () => actions
  });
});

afterEach(() => {
  Notification.manager.dismiss();
});

describe('park', () => {
  it('says what it freed, and offers the way back', async () => {
    model.onRun = async () => {
      setFree(8.3);
      return report([
        step('park', 6.9, { before: gib(11.2), after: gib(4.3) })
      ]);
    };
    await commands.execute(CommandIDs.park, args);
    expect(model.requests).toEqual([{ remedies: [{ id: 'park' }] }]);
    const [toast] = toasts();
    expect(toast.message).toBe(
      size(
        'Freed 6.9 GiB of 11.2 GiB. GPU 0 now has 8.3 GiB free. embeddings.ipynb is parked.'
      )
    );
    const restore = jest.spyOn(commands, 'execute').mockResolvedValue(null);
    toast.options.actions![0].callback(new MouseEvent('click'));
    expect(restore).toHaveBeenCalledWith(CommandIDs.restore, {
      kernelId: KERNEL
    });
  });

  it('says why it could not', async () => {
    const text = 'A thread of the notebook runs. Nothing was moved.';
    model.onRun = async () => report([step('park', null, { ok: false, text })]);
    await commands.execute(CommandIDs.park, args);
    expect(toasts().map(({ message, type }) => [message, type])).toEqual([
      [text, 'error']
    ]);
  });

  it('is not for a running cell, and not twice', () => {
    expect(commands.isEnabled(CommandIDs.park, args)).toBe(true);
    expect(
      commands.isEnabled(CommandIDs.park, { kernelId: 'train-resnet' })
    ).toBe(false);
    model.snapshot = parked();
    expect(commands.isEnabled(CommandIDs.park, args)).toBe(false);
    expect(commands.caption(CommandIDs.park, args)).toBe(
      'It is parked already.'
    );
  });
});

describe('restore', () => {
  beforeEach(() => {
    model.snapshot = parked();
  });

  it('stands in the menu in place of Park', () => {
    expect(commands.isVisible(CommandIDs.restore, args)).toBe(true);
    expect(commands.isVisible(CommandIDs.park, args)).toBe(false);
    model.snapshot = panel();
    expect(commands.isVisible(CommandIDs.restore, args)).toBe(false);
    expect(commands.isEnabled(CommandIDs.restore, args)).toBe(false);
    expect(commands.isVisible(CommandIDs.park, args)).toBe(true);
  });

  it('says that the values are back', async () => {
    model.onRun = async () => report([step('restore', null)]);
    await commands.execute(CommandIDs.restore, args);
    expect(model.requests).toEqual([{ remedies: [{ id: 'restore' }] }]);
    expect(toasts()[0].message).toBe(
      'Restored embeddings.ipynb: its values are on the GPU again.'
    );
  });

  it('says how much room is missing, and that nothing is lost', async () => {
    const text = 'There is no room.';
    model.onRun = async () =>
      report([step('restore', null, { ok: false, text })]);
    setFree(1.4);
    await commands.execute(CommandIDs.restore, args);
    expect(toasts()[0].message).toBe(
      size(
        'Can’t restore: needs 6.9 GiB, GPU 0 has 1.4 GiB free. The values stay in RAM.'
      )
    );
    // With room enough it was something else, which the kernel knows.
    setFree(20);
    await commands.execute(CommandIDs.restore, args);
    expect(toasts().map(({ message }) => message)).toContain(text);
  });
});

describe('cancel', () => {
  const waits = report([step('collect', null, { ok: null })], {
    finished: false,
    waiting: true
  });

  function goesOn(run: Report | null): void {
    model.running = () => run;
  }

  it('is there while something waits or runs, under its name', () => {
    expect(commands.isVisible(CommandIDs.cancel, args)).toBe(false);
    goesOn(waits);
    expect(commands.isVisible(CommandIDs.cancel, args)).toBe(true);
    expect(commands.label(CommandIDs.cancel, args)).toBe(
      'Don’t Free GPU Memory When Idle'
    );
    goesOn({ ...waits, waiting: false });
    expect(commands.label(CommandIDs.cancel, args)).toBe(
      'Stop Freeing GPU Memory'
    );
  });

  it('cancels, and says why where it can’t', async () => {
    goesOn(waits);
    await commands.execute(CommandIDs.cancel, args);
    expect(model.cancelled).toEqual([KERNEL]);
    expect(toasts()).toEqual([]);
    model.onCancel = () =>
      Promise.reject(new VramRequestError('refused', 'It is the last step.'));
    await commands.execute(CommandIDs.cancel, args);
    expect(toasts()[0].message).toBe('It is the last step.');
  });
});
