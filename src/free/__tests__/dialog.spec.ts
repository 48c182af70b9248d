import { Dialog } from '@jupyterlab/apputils';
import { gib, parked, TAKEN_AT } from '../../__tests__/mockup';
import {
  fullPlan,
  KERNEL,
  plan,
  remedy,
  report,
  step
} from '../../__tests__/plans';
import { VramRequestError } from '../../service/client';
import type { Plan, Report } from '../../service/wire';
import { freeDialog } from '../dialog';
import { FreeSession } from '../session';
import { FakeModel, language, until } from './fakes';

const NBSP = '\u00a0';
const size = (text: string) => text.replace(/ GiB/g, `${NBSP}GiB`);

let model: FakeModel;
let session: FreeSession;
let dialog: ReturnType<typeof freeDialog>;
let closed: Promise<unknown>;
let asked: string[];

const text = () => dialog.node.textContent ?? '';
const title = () =>
  document.getElementById(dialog.node.getAttribute('aria-labelledby')!)!
    .textContent;
const button = (index: number) =>
  dialog.node.querySelectorAll<HTMLButtonElement>('.jp-Dialog-button')[index];
const box = (id: string) =>
  dialog.node.querySelector<HTMLInputElement>(`#jp-vram-free-step-${id}`)!;
const note = () =>
  dialog.node.querySelector('.jp-Vram-FreeDialog-note')!.textContent;
const press = (key: string) =>
  document.activeElement!.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })
  );
/** Title and body are drawn apart. */
const result = (name: string) =>
  until('result', () => title() === name && link('Show what is left'));
const link = (label: string) =>
  Array.from(dialog.node.querySelectorAll('button')).find(
    node => node.textContent === label
  )!;

function open(): void {
  session = new FreeSession(model, KERNEL, language, model);
  dialog = freeDialog(session, {
    restart: () => asked.push('restart'),
    restore: () => asked.push('restore'),
    end: processes => asked.push(`end ${JSON.stringify(processes)}`),
    copy: text => asked.push(`copy ${text}`),
    copyDetails: ({ run_id }) => asked.push(`details ${run_id}`)
  });
  void session.load();
  closed = dialog.launch();
}

beforeEach(() => {
  model = new FakeModel();
  asked = [];
});

afterEach(() => {
  dialog.dispose();
  session.dispose();
  closed.catch(() => undefined);
  Dialog.flush();
  document.body.replaceChildren();
});

describe('the plan', () => {
  beforeEach(async () => {
    model.plans = [async () => plan()];
    open();
    await until('plan', () => box('release-cache'));
    await until('focus', () => document.activeElement === button(1));
  });

  it('says whose memory it is, what it holds and when that was measured', () => {
    expect(title()).toBe('Free GPU memory of embeddings.ipynb');
    expect(text()).toContain(
      size('GPU 0 · idle 2 h · holds 11.2 GiB · measured in the kernel')
    );
    expect(dialog.node.querySelector('.jp-Vram-Key')!.textContent).toBe('B');
    expect(text()).toContain(size('11.2 GiB now'));
    expect(text()).toContain(size('7.4 GiB after'));
  });

  it('opens with what loses nothing, and the focus on its button', () => {
    expect(box('release-cache').checked).toBe(true);
    expect(box('restart').checked).toBe(false);
    expect(button(1).textContent).toBe(size('Free 3.8 GiB'));
    expect(button(1).classList).toContain('jp-mod-accept');
    expect(document.activeElement).toBe(button(1));
    expect(note()).toBe(size('Expected: 3.8 GiB of 11.2 GiB, nothing lost'));
    expect(model.requests).toEqual([]);
  });

  it('describes each step by its group and its cost', () => {
    const ids = box('unpin-exceptions').getAttribute('aria-describedby')!;
    const words = ids
      .split(' ')
      .map(id => document.getElementById(id)!.textContent);
    expect(words[0]).toBe('History is lost');
    expect(words[1]).toContain('You lose %debug');
    expect(words[2]).toBe(size('2.1 GiB'));
  });

  it('follows the ticks', async () => {
    box('restart').click();
    await until('restart', () => box('release-cache').disabled);
    expect(button(1).textContent).toBe(size('Restart and free 11.2 GiB'));
    expect(button(1).classList).toContain('jp-mod-warn');
    expect(button(1).classList).not.toContain('jp-mod-accept');
    expect(note()).toBe('You lose: every variable');
    expect(box('release-cache').checked).toBe(false);
    box('restart').click();
    await until('gentle again', () => !box('release-cache').disabled);
    expect(box('release-cache').checked).toBe(true);
  });

  it('is off with nothing ticked', async () => {
    box('release-cache').click();
    await until('off', () => button(1).disabled);
    expect(note()).toBe('Nothing is ticked');
    box('release-cache').focus();
    press('Enter');
    expect(model.requests).toEqual([]);
    box('release-cache').click();
    await until('on', () => !button(1).disabled);
  });

  it('runs by Enter from a checkbox only while nothing is lost', async () => {
    box('restart').click();
    await until('warning', () => button(1).classList.contains('jp-mod-warn'));
    box('restart').focus();
    press('Enter');
    expect(model.requests).toEqual([]);
    box('restart').click();
    await until('gentle', () => button(1).classList.contains('jp-mod-accept'));
    model.onRun = () => new Promise(() => undefined);
    press('Enter');
    expect(model.requests).toEqual([
      { remedies: [{ id: 'release-cache' }], when: 'now' }
    ]);
  });

  it('runs once by a double click or a held Enter, and stays open for the result', async () => {
    model.onRun = async () =>
      report([step('release-cache', 3.8)], { finished: true });
    const click = (detail: number) =>
      button(1).dispatchEvent(
        new MouseEvent('click', { bubbles: true, cancelable: true, detail })
      );
    click(1);
    await result('Done');
    click(2);
    button(1).focus();
    document.activeElement!.dispatchEvent(
      new KeyboardEvent('keydown', {
        key: 'Enter',
        bubbles: true,
        cancelable: true,
        repeat: true
      })
    );
    expect(dialog.isAttached).toBe(true);
    expect(model.requests).toHaveLength(1);
    click(1);
    await closed;
  });

  it('keeps Tab inside', () => {
    button(1).focus();
    press('Tab');
    const close = dialog.node.querySelector('.jp-Vram-FreeDialog-close');
    expect(document.activeElement).toBe(close);
  });

  it('closes on Escape, changes nothing and wakes nobody', async () => {
    press('Escape');
    await closed;
    expect(model.requests).toEqual([]);
    session.dispose();
    expect(model.watches).toBe(0);
  });
});

describe('what can be chosen', () => {
  async function openWith(shown: Plan): Promise<void> {
    model.plans = [async () => shown];
    open();
    await until('plan', () => box('restart'));
  }

  it('opens the list of variables, and asks for the chosen ones', async () => {
    await openWith(fullPlan());
    expect(dialog.node.querySelector('.jp-Vram-FreeChecklist')).toBeNull();
    const shown: Element[] = [];
    Element.prototype.scrollIntoView = function () {
      shown.push(this);
    };
    link('Choose…').focus();
    link('Choose…').click();
    await until('list', () =>
      dialog.node.querySelector('.jp-Vram-FreeChecklist')
    );
    const [first] = dialog.node.querySelectorAll<HTMLInputElement>(
      '.jp-Vram-FreeChecklist input'
    );
    // Else the focus is on the page behind, where Escape doesn't close.
    await until('focus', () => document.activeElement === first);
    expect(shown[0].contains(first)).toBe(true);
    first.click();
    await until('some', () => box('delete').indeterminate);
    expect(note()).toBe('You lose: emb_matrix');
    expect(button(1).classList).toContain('jp-mod-warn');
    model.onRun = () => new Promise(() => undefined);
    button(1).click();
    expect(model.requests).toEqual([
      {
        remedies: [
          { id: 'delete', names: ['emb_matrix'] },
          { id: 'release-cache' }
        ],
        when: 'now'
      }
    ]);
  });

  it('clears every output where that is ticked', async () => {
    await openWith(fullPlan());
    const option = () =>
      dialog.node.querySelector<HTMLInputElement>(
        '.jp-Vram-FreeOption > input'
      );
    expect(option()).toBeNull();
    box('unpin-outputs').click();
    await until('option', option);
    option()!.click();
    await until('ticked', () => option()!.checked);
    model.onRun = () => new Promise(() => undefined);
    button(1).click();
    expect(model.requests[0].remedies).toContainEqual({
      id: 'unpin-outputs',
      all: true
    });
  });

  it('restarts on another GPU or on the CPU', async () => {
    await openWith(fullPlan());
    box('restart').click();
    await until('places', () => dialog.node.querySelector('select'));
    const select = dialog.node.querySelector('select')!;
    expect(Array.from(select.options, ({ text }) => text)).toEqual([
      'the same GPU',
      size('GPU 1 (10.0 GiB free)'),
      'the CPU only'
    ]);
    select.value = 'GPU-1';
    select.dispatchEvent(new Event('change', { bubbles: true }));
    await until('chosen', () => select.value === 'GPU-1');
    model.onRun = () => new Promise(() => undefined);
    button(1).click();
    expect(model.requests[0].remedies).toEqual([
      { id: 'restart', place: 'GPU-1' }
    ]);
  });

  it('names what holds the memory as text', async () => {
    const label = '<img src=x onerror=alert(1)>';
    await openWith(
      fullPlan({
        holders_in_kernel: [{ ...fullPlan().holders_in_kernel[1], label }]
      })
    );
    const list = dialog.node.querySelector('details')!;
    expect(list.textContent).toContain(label);
    expect(list.textContent).toContain('last error’s traceback');
    expect(dialog.node.querySelector('img')).toBeNull();
  });

  it('says where a scan was cut off', async () => {
    await openWith(
      fullPlan({ scan: { objects: 2_000_000, complete: false, found: 1 } })
    );
    expect(text()).toContain('Only the first 2,000,000 objects');
  });

  it('copies what helps with a pool that stays', async () => {
    await openWith(plan({ pools: ['jax'] }));
    expect(text()).toContain('JAX keeps its memory pool');
    dialog.node
      .querySelectorAll<HTMLButtonElement>('.jp-Vram-FreeHint button')[1]
      .click();
    expect(asked).toEqual([
      expect.stringContaining('XLA_PYTHON_CLIENT_PREALLOCATE')
    ]);
  });

  it('offers to bring parked memory back', async () => {
    model.snapshot = parked();
    await openWith(plan());
    expect(text()).toContain(
      size('6.9 GiB of this notebook waits in host RAM.')
    );
    link('Restore now').click();
    await closed;
    expect(asked).toEqual(['restore']);
  });
});

it('gives the focus back to where it was', async () => {
  const before = document.body.appendChild(document.createElement('button'));
  before.focus();
  model.plans = [async () => plan()];
  open();
  await until('plan', () => box('release-cache'));
  button(0).click();
  await closed;
  expect(document.activeElement).toBe(before);
});

it('starts on Cancel where work is lost', async () => {
  model.plans = [
    async () => plan({ remedies: [remedy('restart', 11.2, { default: true })] })
  ];
  open();
  await until('plan', () => box('restart'));
  await until('focus', () => document.activeElement === button(0));
});

it('shows text from kernels as text', async () => {
  const text = '<img src=x onerror=alert(1)>';
  model.plans = [async () => plan({ text })];
  open();
  await until('banner', () => dialog.node.querySelector('.jp-Vram-FreeBanner'));
  expect(
    dialog.node.querySelector('.jp-Vram-FreeBanner')!.textContent
  ).toContain(text);
  expect(dialog.node.querySelector('img')).toBeNull();
});

it('says what went wrong with the plan, and asks again on Retry', async () => {
  model.plans = [
    () => Promise.reject(new VramRequestError('unreachable', 'Failed')),
    async () => plan()
  ];
  open();
  await until('alert', () => dialog.node.querySelector('[role="alert"]'));
  expect(text()).toContain('The server does not answer.');
  expect(button(1).textContent).toBe('Retry');
  button(1).click();
  await until('plan', () => box('release-cache'));
});

it('says that a kernel has ended', async () => {
  model.plans = [async () => plan({ state: 'gone', remedies: [] })];
  open();
  await until('ended', () => text().includes('This kernel has ended.'));
  expect(button(1).hidden).toBe(true);
});

it('says why nothing can be freed inside a foreign kernel', async () => {
  model.plans = [
    async () => plan({ state: 'no-agent', remedies: [remedy('restart', 11.2)] })
  ];
  open();
  await until('plan', () => box('restart'));
  expect(text()).toContain('Memory can’t be freed inside this kind of kernel.');
  expect(button(1).disabled).toBe(true);
});

describe('running', () => {
  let done: (report: Report) => void;
  let fail: (error: Error) => void;

  beforeEach(async () => {
    model.plans = [
      async () =>
        plan({
          remedies: [
            remedy('collect', null, { default: true }),
            remedy('release-cache', 3.8, { default: true })
          ]
        })
    ];
    model.onRun = () =>
      new Promise((resolve, reject) => {
        done = resolve;
        fail = reject;
      });
    open();
    await until('plan', () => box('collect'));
    button(1).click();
    await until('running', () => text().includes('working…'));
  });

  it('shows each step with its measured result', async () => {
    expect(title()).toBe('Freeing memory of embeddings.ipynb');
    expect(text()).toContain('step 1 of 2');
    expect(text()).toContain(size('expected 3.8 GiB'));
    model.reported.emit(
      report(
        [
          step('collect', 0.5),
          step('release-cache', null, { ok: null, freed_by: null })
        ],
        { finished: false }
      )
    );
    await until('first step', () => text().includes(size('freed 0.5 GiB')));
    expect(text()).toContain('step 2 of 2');
    expect(button(1).hidden).toBe(true);
  });

  it('stops after the step under way, and says so', async () => {
    model.reported.emit(
      report(
        [
          step('collect', null, { ok: null, seconds: null }),
          step('release-cache', null, { ok: null, seconds: null })
        ],
        { finished: false }
      )
    );
    await until('stop', () => button(0).textContent === 'Stop after this step');
    button(0).click();
    await until('close', () => button(0).textContent === 'Close');
    expect(model.cancelled).toEqual([KERNEL]);
    expect(note()).toContain('Steps already done stay done.');
    done(
      report([
        step('collect', 0.5),
        step('release-cache', null, {
          ok: false,
          seconds: null,
          text: 'Not run. You stopped it.'
        })
      ])
    );
    await result('Stopped before the last step');
    expect(text()).toContain(size('Freed 0.5 GiB'));
    expect(text()).toContain('not run');
    expect(text()).not.toContain('failed');
  });

  it('says why it can’t stop, and goes on', async () => {
    model.onCancel = () =>
      Promise.reject(new VramRequestError('refused', 'It is the last step.'));
    model.reported.emit(
      report(
        [
          step('collect', null, { ok: null, seconds: null }),
          step('release-cache', null, { ok: null, seconds: null })
        ],
        { finished: false }
      )
    );
    await until('stop', () => !button(1).hidden);
    button(0).click();
    await until('reason', () => text().includes('It is the last step.'));
    expect(text()).toContain('working…');
  });

  it('leaves other runs out', async () => {
    model.reported.emit(report([step('restart', 9)], { finished: false }));
    model.reported.emit(
      report([step('collect', 9), step('release-cache', 9)], {
        kernel_id: 'other'
      })
    );
    await new Promise(resolve => setTimeout(resolve, 30));
    expect(text()).not.toContain('freed');
  });

  it('says what came back, what stays and what is free now', async () => {
    model.snapshot = {
      ...model.snapshot!,
      taken_at: TAKEN_AT + 1,
      gpus: model.snapshot!.gpus.map(gpu => ({
        ...gpu,
        memory: { ...gpu.memory, free: gib(5.2) }
      }))
    };
    done(
      report([step('collect', 0), step('release-cache', 3.8)], {
        at: TAKEN_AT + 0.5,
        freed: gib(3.8),
        remains: { bytes: gib(7.4), why: '6.9 GiB is in use.' }
      })
    );
    await result('Done');
    expect(text()).toContain(size('Freed 3.8 GiB'));
    expect(text()).toContain(size('of 11.2 GiB held by embeddings.ipynb'));
    expect(text()).toContain(size('7.4 GiB remains'));
    expect(text()).toContain('6.9 GiB is in use.');
    expect(text()).toContain(size('GPU 0 now has 5.2 GiB free (was 1.4 GiB).'));
    expect(button(0).textContent).toBe('Restart kernel…');
    expect(document.activeElement).toBe(button(1));
  });

  it('takes no free memory from a reading before the end of the run', async () => {
    done(
      report([step('collect', 0), step('release-cache', 3.8)], {
        at: TAKEN_AT + 5,
        freed: gib(3.8)
      })
    );
    await result('Done');
    expect(text()).not.toContain('now has');
  });

  it('says plainly that less came back', async () => {
    const why = 'It shares blocks with what is in use.';
    done(
      report(
        [
          step('collect', 0, { freed: 0 }),
          step('release-cache', 1.7, { text: why })
        ],
        { freed: gib(1.7), remains: { bytes: gib(9.5), why: null } }
      )
    );
    await result('Less was freed than expected');
    expect(text()).toContain(size('Freed 1.7 GiB, expected at least 3.8 GiB.'));
    expect(text()).toContain(why);
    expect(button(1).textContent).toBe(size('Restart and free 9.5 GiB…'));
    expect(document.activeElement).toBe(button(0));
    button(1).click();
    await closed;
    expect(asked).toEqual(['restart']);
  });

  it('says which step failed and why', async () => {
    done(
      report(
        [
          step('collect', null, { ok: false, text: 'It raised an error.' }),
          step('release-cache', 3.8)
        ],
        { freed: gib(3.8) }
      )
    );
    await result('Not every step worked');
    expect(text()).toContain('It raised an error.');
    expect(text()).toContain(size('freed 3.8 GiB'));
  });

  it('says that a run was refused, and plans again', async () => {
    fail(new VramRequestError('refused', 'A cell is running now.'));
    await until('alert', () => text().includes('A cell is running now.'));
    model.plans = [async () => plan()];
    expect(button(1).textContent).toBe('Plan again');
    button(1).click();
    await until('plan', () => box('release-cache'));
  });

  it('goes on when the dialog is closed', async () => {
    let outcome: unknown = null;
    session.finished.connect((_, value) => {
      outcome = value;
    });
    press('Escape');
    await closed;
    done(report([step('collect', 0), step('release-cache', 3.8)]));
    await until('outcome', () => outcome);
    expect(outcome).toMatchObject({ report: { run_id: 'r1' } });
  });
});

it('names processes that kept their memory, and offers to end them', async () => {
  model.plans = [
    async () => plan({ remedies: [remedy('restart', 11.2, { default: true })] })
  ];
  model.onRun = async () =>
    report([step('restart', 10)], {
      remains: { bytes: gib(1.2), why: null },
      survivors: [
        {
          pid: 48213,
          started_at: 5,
          name: 'python',
          gpu: 'GPU-0',
          bytes: gib(1.2)
        },
        { pid: 48214, started_at: null, name: null, gpu: null, bytes: null }
      ]
    });
  open();
  await until('plan', () => box('restart'));
  button(1).click();
  await result('Some processes kept their memory');
  expect(text()).toContain('2 processes that the kernel had started');
  expect(text()).toContain('48213');
  expect(text()).toContain('—');
  link('End…').click();
  await closed;
  expect(asked).toEqual(['end [{"pid":48213,"startedAt":5}]']);
});

it('shows a run that goes on already, with its stop and its result', async () => {
  model.plans = [
    async () =>
      plan({
        state: 'busy',
        remedies: [
          remedy('release-cache', 2.6, { offered: false, why_not: 'Busy.' }),
          remedy('interrupt', null),
          remedy('restart', 11.2)
        ]
      })
  ];
  const waiting = report([step('release-cache', null, { ok: null })], {
    finished: false,
    waiting: true
  });
  model.goesOn = waiting;
  open();
  await until('waiting', () => text().includes('waiting…'));
  expect(title()).toBe('Waiting for embeddings.ipynb');
  expect(text()).not.toContain('Wait, and free');
  button(0).click();
  expect(model.cancelled).toEqual([KERNEL]);
  model.reported.emit({ ...waiting, waiting: false });
  await until('working', () => text().includes('working…'));
  model.reported.emit(
    report([step('release-cache', 2.6)], { freed: gib(2.6) })
  );
  await result('Done');
  expect(text()).toContain(size('Freed 2.6 GiB'));
  expect(model.requests).toEqual([]);
});

it('plans anew for the process that follows one that died', async () => {
  const kernels = (pids: number[]) => {
    model.snapshot = {
      ...model.snapshot!,
      kernels: model.snapshot!.kernels.map(kernel =>
        kernel.id === KERNEL ? { ...kernel, pids } : kernel
      )
    };
    model.changed.emit();
  };
  kernels([1]);
  model.plans = [async () => plan(), async () => plan({ bytes: gib(0.5) })];
  open();
  await until('plan', () => box('release-cache'));
  kernels([1]);
  expect(text()).toContain(size('holds 11.2 GiB'));
  kernels([2]);
  await until('new plan', () => text().includes(size('holds 0.5 GiB')));
});

describe('a busy kernel', () => {
  beforeEach(async () => {
    model.plans = [
      async () =>
        plan({
          state: 'busy',
          text: 'Memory can’t be freed safely while a cell runs.',
          remedies: [
            remedy('release-cache', 2.6, { offered: false, why_not: 'Busy.' }),
            remedy('interrupt', null),
            remedy('restart', 11.2)
          ]
        })
    ];
    model.onRun = () => new Promise(() => undefined);
    open();
    await until('choices', () => dialog.node.querySelector('[type="radio"]'));
  });

  it('waits by default', async () => {
    expect(title()).toBe('embeddings.ipynb is running');
    expect(button(1).textContent).toBe('Free when idle');
    expect(note()).toBe('You can close this; it stays scheduled.');
    button(1).click();
    expect(model.requests).toEqual([
      { remedies: [{ id: 'release-cache' }], when: 'idle' }
    ]);
    await until('waiting', () => text().includes('waiting…'));
    expect(title()).toBe('Waiting for embeddings.ipynb');
    expect(button(0).textContent).toBe('Don’t wait');
    model.reported.emit(
      report([step('release-cache', null, { ok: null })], { finished: false })
    );
    await until('working', () => text().includes('working…'));
  });

  it('interrupts and restarts in the warning colour', async () => {
    dialog.node
      .querySelector<HTMLInputElement>('#jp-vram-busy-restart')!
      .click();
    await until('restart', () => button(1).classList.contains('jp-mod-warn'));
    expect(button(1).textContent).toBe(size('Restart and free 11.2 GiB'));
    dialog.node
      .querySelector<HTMLInputElement>('#jp-vram-busy-interrupt')!
      .click();
    await until(
      'interrupt',
      () => button(1).textContent === 'Interrupt and free'
    );
    button(1).click();
    expect(model.requests).toEqual([
      { remedies: [{ id: 'interrupt' }, { id: 'release-cache' }], when: 'now' }
    ]);
  });
});
