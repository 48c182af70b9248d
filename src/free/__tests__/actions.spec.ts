import { Dialog, Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { gib } from '../../__tests__/mockup';
import { KERNEL, report, step } from '../../__tests__/plans';
import { VramRequestError } from '../../service/client';
import { CommandIDs } from '../../tokens';
import { FreeActions } from '../actions';
import { addCommands } from '../commands';
import { details } from '../details';
import { KernelRunner } from '../runner';
import { FakeModel, fakeApp, language, trans, until } from './fakes';

const size = (text: string) => text.replace(/ GiB/g, '\u00a0GiB');

let model: FakeModel;
let app: ReturnType<typeof fakeApp>;
let actions: FreeActions;
let refreshed: string[];

const toasts = () => Notification.manager.notifications;
const dialog = () => document.querySelector<HTMLElement>('.jp-Dialog');
const buttons = () =>
  dialog()!.querySelectorAll<HTMLButtonElement>('.jp-Dialog-button');

function start(documents: object[] = []): void {
  refreshed = [];
  app = fakeApp(documents, refreshed);
  actions = new FreeActions(
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
}

async function answer(accept: boolean): Promise<void> {
  await until('dialog', () => dialog() && buttons().length === 2);
  buttons()[accept ? 1 : 0].click();
}

beforeEach(() => {
  model = new FakeModel();
  start();
});

afterEach(() => {
  Dialog.flush();
  Notification.manager.dismiss();
  document.body.replaceChildren();
});

describe('restart and shut down', () => {
  it('asks in JupyterLab’s words, with what it returns', async () => {
    const done = actions.restart(KERNEL);
    await until('dialog', () => dialog()?.textContent?.includes('Returns'));
    expect(dialog()!.getAttribute('aria-label')).toBe('Restart Kernel?');
    expect(dialog()!.textContent).toContain(
      'Do you want to restart the kernel of embeddings.ipynb? All variables will be lost.'
    );
    expect(dialog()!.textContent).toContain(size('Returns 11.2 GiB to GPU 0.'));
    expect(document.activeElement).toBe(buttons()[0]);
    await answer(false);
    await done;
    expect(model.requests).toEqual([]);
    expect(toasts()).toEqual([]);
  });

  it('promises no more than a bound where the kernel has children', async () => {
    const [row] = model.snapshot!.holders;
    model.snapshot = {
      ...model.snapshot!,
      holders: [{ ...row, kernel_id: KERNEL, role: 'worker' }]
    };
    const done = actions.restart(KERNEL);
    await until('dialog', () => dialog()?.textContent?.includes('Returns'));
    expect(dialog()!.textContent).toContain(
      size('Returns up to 11.2 GiB to GPU 0.')
    );
    await answer(false);
    await done;
  });

  it('says that it checks, then what came back', async () => {
    let finish = () => {};
    model.onRun = () =>
      new Promise(resolve => {
        finish = () => resolve(report([step('restart', 11.2)]));
      });
    const done = actions.restart(KERNEL);
    await answer(true);
    await until('toast', () => toasts().length === 1);
    expect(toasts()[0].message).toContain('checking that the memory is gone');
    expect(model.requests).toEqual([{ remedies: [{ id: 'restart' }] }]);
    finish();
    await done;
    expect(toasts().map(({ message }) => message)).toEqual([
      size('embeddings.ipynb restarted. Freed 11.2 GiB.')
    ]);
  });

  it('lets documents learn that the kernel is gone', async () => {
    model.onRun = async () => report([step('shutdown', 11.2)]);
    const done = actions.shutdown(KERNEL);
    await answer(true);
    await done;
    expect(model.requests).toEqual([{ remedies: [{ id: 'shutdown' }] }]);
    expect(refreshed).toEqual(['kernels', 'sessions']);
    expect(toasts()[0].message).toBe(
      size('embeddings.ipynb was shut down. Freed 11.2 GiB.')
    );
  });

  it('names survivors with a way to end them', async () => {
    model.onRun = async () =>
      report([step('restart', 10)], {
        survivors: [
          {
            pid: 7,
            started_at: 5,
            name: 'python',
            gpu: 'GPU-0',
            bytes: gib(1.2)
          }
        ]
      });
    const done = actions.restart(KERNEL);
    await answer(true);
    await done;
    const [toast] = toasts();
    expect(toast.message).toBe(
      size(
        'embeddings.ipynb restarted, but 1.2 GiB stays with 1 process it had started.'
      )
    );
    expect(toast.options.autoClose).toBe(false);
    toast.options.actions![0].callback(new MouseEvent('click'));
    await until('end dialog', () =>
      dialog()?.textContent?.includes('End leftover processes?')
    );
    await answer(false);
  });

  it('says why it failed, for as long as it takes to read', async () => {
    model.onRun = () =>
      Promise.reject(new VramRequestError('refused', 'It is being freed.'));
    const done = actions.restart(KERNEL);
    await answer(true);
    await done;
    const [toast] = toasts();
    expect(toast.type).toBe('error');
    expect(toast.message).toBe('It is being freed.');
    expect(toast.options.autoClose).toBe(false);
  });
});

describe('at once', () => {
  it('releases, and says the measured result', async () => {
    model.onRun = async () => report([step('release-cache', 3.8)]);
    await actions.releaseCache(KERNEL);
    expect(toasts()[0].message).toBe(
      size('Freed 3.8 GiB in embeddings.ipynb; it still holds 7.4 GiB.')
    );
  });

  it('marks a framework’s figure, and an unknown one', async () => {
    model.onRun = async () =>
      report([step('release-cache', 3.8, { freed_by: 'framework' })]);
    await actions.releaseCache(KERNEL);
    expect(toasts()[0].message).toContain('≈');
    Notification.manager.dismiss();
    model.onRun = async () => report([step('release-cache', null)]);
    await actions.releaseCache(KERNEL);
    expect(toasts()[0].message).toContain('could not be measured');
  });

  it('is silent about an interrupt that worked, and offers Restart… else', async () => {
    model.onRun = async () => report([step('interrupt', null)]);
    await actions.interrupt(KERNEL);
    expect(toasts()).toEqual([]);
    model.onRun = async () =>
      report([step('interrupt', null, { ok: false, text: 'No answer.' })]);
    await actions.interrupt(KERNEL);
    expect(toasts()[0].message).toBe('No answer.');
    expect(toasts()[0].options.actions![0].label).toBe('Restart…');
  });

  it('keeps every message within what JupyterLab shows', async () => {
    const notebook = `${'deep-'.repeat(60)}end.ipynb`;
    const row = { ...model.kernel(KERNEL)!, notebook };
    model.snapshot = { ...model.snapshot!, kernels: [row] };
    model.onRun = async () =>
      report([step('restart', 1)], {
        survivors: Array.from({ length: 120 }, (_, i) => ({
          pid: i + 5,
          started_at: 1,
          name: null,
          gpu: null,
          bytes: gib(100)
        }))
      });
    const done = actions.restart(KERNEL);
    await answer(true);
    await done;
    const { message } = toasts()[0];
    expect(message.length).toBeLessThanOrEqual(140);
    expect(message).toContain('120 processes it had started.');
    expect(message).toContain('end.ipynb');
  });
});

describe('a restart of an open notebook', () => {
  let restarts: number;

  /** What the server tells while it waits for the page that asked by this. */
  function underWay(by_page: string | null): void {
    const now = step('restart', null, { ok: null, by_page });
    model.reported.emit(report([now], { finished: false }));
  }

  beforeEach(() => {
    restarts = 0;
    const restartKernel = async () => {
      restarts++;
    };
    start([
      {
        id: 'doc',
        sessionContext: { session: { kernel: { id: KERNEL } }, restartKernel }
      }
    ]);
  });

  it('goes through the notebook, once the server has noted what it holds', async () => {
    model.onRun = async ({ remedies: [{ by_page }] }) => {
      expect(by_page).toBeTruthy();
      underWay(null);
      underWay('another page');
      expect(restarts).toBe(0);
      underWay(by_page!);
      underWay(by_page!);
      return report([step('restart', 11.2)]);
    };
    const done = actions.restart(KERNEL);
    await answer(true);
    await done;
    expect(restarts).toBe(1);
    expect(toasts()[0].message).toBe(
      size('embeddings.ipynb restarted. Freed 11.2 GiB.')
    );
    expect(model.watches).toBe(0);
    underWay(model.requests[0].remedies[0].by_page!);
    expect(restarts).toBe(1);
  });

  it('leaves the place to the server, and restarts once', async () => {
    model.onRun = async ({ remedies: [{ place, by_page }] }) => {
      expect(place).toBe('cpu');
      underWay(by_page!);
      return report([step('restart', 11.2)]);
    };
    const runner = new KernelRunner(model, app);
    await runner.run(KERNEL, { remedies: [{ id: 'restart', place: 'cpu' }] });
    expect(restarts).toBe(1);
  });

  it('happens also on a page that gets no reports', async () => {
    model.onRun = async () => {
      await until('restart', () => restarts === 1);
      return report([step('restart', 11.2)]);
    };
    const runner = new KernelRunner(model, app, 20);
    await runner.run(KERNEL, { remedies: [{ id: 'restart' }] });
  });

  it('does not happen where the server refuses', async () => {
    model.onRun = () =>
      Promise.reject(new VramRequestError('refused', 'It is being freed.'));
    const runner = new KernelRunner(model, app, 20);
    await expect(
      runner.run(KERNEL, { remedies: [{ id: 'restart' }] })
    ).rejects.toThrow('It is being freed.');
    await new Promise(resolve => setTimeout(resolve, 60));
    expect(restarts).toBe(0);
  });
});

describe('leftovers', () => {
  it('lists them, ends each after asking, and says what came of it', async () => {
    const pids: number[] = [];
    model.onEnd = async pid => {
      pids.push(pid);
      return {
        version: '0.1.0',
        schema: 1,
        pid,
        ended: pid === 2001,
        text: 'It does not end.'
      };
    };
    const done = actions.end();
    await until('dialog', () => dialog()?.textContent?.includes('2002'));
    const text = dialog()!.textContent!;
    expect(text).toContain(
      size('2 processes of old-train.ipynb still hold 1.9 GiB on GPU 0.')
    );
    expect(text).toContain('data-loading worker');
    expect(buttons()[1].textContent).toBe('End 2 processes');
    expect(pids).toEqual([]);
    await answer(true);
    await done;
    expect(pids).toEqual([2001, 2002]);
    expect(toasts()[0].message).toBe(
      '1 process ended. Another did not: It does not end.'
    );
  });

  it('ends nothing without a yes', async () => {
    const done = actions.end([{ pid: 2001, startedAt: 5 }]);
    await answer(false);
    await done;
    expect(toasts()).toEqual([]);
  });
});

describe('details', () => {
  it('tells source, versions and the kernel’s row', () => {
    const text = details(model, 'JupyterLab 4.6.6', KERNEL);
    expect(text).toContain('JupyterLab 4.6.6');
    expect(text).toContain('source: nvml, state: ok');
    expect(text).toContain('driver: 575.57, CUDA 12.9');
    expect(text).toContain('embeddings.ipynb');
    expect(text).toContain(`(${gib(3.8)} bytes)`);
    expect(text).not.toContain('llm-eval');
  });

  it('tells that there is no reading', () => {
    model.snapshot = null;
    model.status = 'missing';
    expect(details(model, 'JupyterLab 4.6.6')).toContain('none (missing)');
  });
});

describe('commands', () => {
  const { free, interrupt, end, openNotebook, releaseCache } = CommandIDs;
  const enabled = (id: string, args = {}) => app.commands.isEnabled(id, args);
  const caption = (id: string, args = {}) => app.commands.caption(id, args);

  it('are off without a kernel, and say why', () => {
    expect(enabled(free)).toBe(false);
    expect(caption(free)).toContain('Open a notebook');
    expect(enabled(free, { kernelId: KERNEL })).toBe(true);
  });

  it('name the kernel except in its own menu', () => {
    const label = (args: ReadonlyPartialJSONObject) =>
      app.commands.label(free, args);
    expect(label({ kernelId: KERNEL })).toBe(
      'Free GPU Memory of embeddings.ipynb…'
    );
    expect(label({ kernelId: KERNEL, menu: true })).toBe('Free GPU Memory…');
  });

  it('follow the state of the kernel and of the server', () => {
    expect(enabled(interrupt, { kernelId: KERNEL })).toBe(false);
    expect(enabled(interrupt, { kernelId: 'train-resnet' })).toBe(true);
    expect(enabled(releaseCache, { kernelId: 'train-resnet' })).toBe(false);
    expect(enabled(openNotebook, { kernelId: KERNEL })).toBe(true);
    expect(enabled(end)).toBe(true);
    model.snapshot = { ...model.snapshot!, holders: [] };
    expect(enabled(end)).toBe(false);
    expect(enabled(end, { processes: [{ pid: 7, startedAt: 1 }] })).toBe(true);
    model.status = 'stale';
    expect(enabled(free, { kernelId: KERNEL })).toBe(false);
    expect(caption(free, { kernelId: KERNEL })).toContain('does not answer');
  });

  it('describe their arguments', async () => {
    for (const id of Object.values(CommandIDs)) {
      if (app.commands.hasCommand(id)) {
        const { args } = await app.commands.describedBy(id);
        expect(args).toMatchObject({ type: 'object' });
      }
    }
  });
});
