import { Dialog, Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { gib } from '../../__tests__/mockup';
import { KERNEL, plan, remedy, report, step } from '../../__tests__/plans';
import { FreeActions } from '../actions';
import { FakeModel, fakeApp, language, until } from './fakes';

const size = (text: string) => text.replace(/ GiB/g, '\u00a0GiB');

const KERNELS = [KERNEL, 'llm-eval', 'train-resnet', 'sandbox'];

let model: FakeModel;
let closed: Promise<void>;
let ran: string[];

const dialog = () => document.querySelector<HTMLElement>('.jp-Dialog')!;
const title = () => dialog().querySelector('.jp-Dialog-header')!.textContent;
const lines = () =>
  [...dialog().querySelectorAll('.jp-Vram-FreeStep, .jp-mod-step')].map(
    line => line.textContent
  );
const boxes = () => [
  ...dialog().querySelectorAll<HTMLInputElement>('input[type=checkbox]')
];
const button = (index: number) =>
  dialog().querySelectorAll<HTMLButtonElement>('.jp-Dialog-button')[index];
const note = () =>
  dialog().querySelector('.jp-Vram-FreeDialog-note')!.textContent;
const toasts = () => Notification.manager.notifications;

beforeEach(async () => {
  model = new FakeModel();
  ran = [];
  const gentle = (gain: number, held: number) => async () =>
    plan({
      bytes: gib(held),
      remedies: [
        remedy('release-cache', gain, { default: true }),
        remedy('restart', held)
      ]
    });
  model.plans = [
    gentle(3.8, 11.2),
    gentle(2, 5.4),
    async () =>
      plan({
        state: 'busy',
        bytes: gib(15.8),
        remedies: [
          remedy('release-cache', 3, { offered: false, why_not: 'Busy.' }),
          remedy('interrupt', null)
        ]
      }),
    async () =>
      plan({
        state: 'no-agent',
        bytes: gib(0.5),
        remedies: [remedy('restart', 0.5)],
        text: 'Only Python kernels can be asked.'
      })
  ];
  const actions = new FreeActions(
    fakeApp(),
    model,
    language,
    nullTranslator.load('jupyterlab')
  );
  closed = actions.freeSeveral(KERNELS);
  await until('plans', () => dialog() && button(1) && !button(1).hidden);
  await until('lines', () => lines()[3]?.includes('Only Python'));
});

afterEach(async () => {
  Dialog.flush();
  Notification.manager.dismiss();
  await closed.catch(() => undefined);
  document.body.replaceChildren();
});

it('shows what each kernel would return, or why nothing', () => {
  expect(title()).toContain('Free GPU memory of 4 kernels');
  expect(lines()).toEqual(
    [
      'Bembeddings.ipynb3.8 GiB of 11.2 GiBRelease cached blocks',
      'llm-eval.ipynb2.0 GiB of 5.4 GiBRelease cached blocks',
      'train-resnet.ipynbholds 15.8 GiBMemory can’t be freed safely while a cell runs.',
      'sandbox.ipynbholds 0.5 GiBOnly Python kernels can be asked.'
    ].map(size)
  );
  expect(boxes().map(box => [box.checked, box.disabled])).toEqual([
    [true, false],
    [true, false],
    [false, true],
    [false, true]
  ]);
  expect(button(1).textContent).toBe(size('Free 5.8 GiB'));
  expect(button(1).classList).toContain('jp-mod-accept');
  expect(note()).toBe(size('Expected: 5.8 GiB of 16.6 GiB, nothing lost'));
  expect(model.requests).toEqual([]);
});

it('leaves out a kernel that is not ticked', async () => {
  boxes()[0].click();
  await until('the rest', () => button(1).textContent === size('Free 2.0 GiB'));
  model.onRun = async (request, kernelId) => {
    ran.push(kernelId);
    return report([step('release-cache', 2)], { kernel_id: kernelId });
  };
  button(1).click();
  await until('result', () => dialog().textContent!.includes('of 5.4'));
  expect(ran).toEqual(['llm-eval']);
});

it('runs one after another, and goes on after a failure', async () => {
  let finish = (): void => undefined;
  model.onRun = async (request, kernelId) => {
    ran.push(`${kernelId}: ${request.remedies.map(({ id }) => id).join()}`);
    if (kernelId === KERNEL) {
      await new Promise<void>(resolve => (finish = resolve));
      throw new Error('The kernel is running a cell.');
    }
    return report([step('release-cache', 2)], { kernel_id: kernelId });
  };
  button(1).click();
  await until('the first', () => lines()[0]?.includes('working…'));
  expect(lines()[1]).toBe(size('llm-eval.ipynbexpected 2.0 GiB'));
  expect(ran).toEqual([`${KERNEL}: release-cache`]);
  finish();
  await until('result', () => title()!.includes('Not every kernel’s'));
  await until('lines', () => lines()[1]?.includes('freed'));
  expect(ran).toEqual([`${KERNEL}: release-cache`, 'llm-eval: release-cache']);
  expect(lines()).toEqual(
    [
      'embeddings.ipynbThe kernel is running a cell.failed',
      'llm-eval.ipynbfreed 2.0 GiB'
    ].map(size)
  );
  expect(dialog().textContent).toContain(
    size('Freed at least 2.0 GiB of 16.6 GiB held by 2 kernels')
  );
  button(1).click();
  await closed;
  expect(model.watches).toBe(0);
  expect(toasts()).toEqual([]);
});

it('goes on when it is closed, and tells the result', async () => {
  const waiting: (() => void)[] = [];
  model.onRun = async (request, kernelId) => {
    await new Promise<void>(resolve => waiting.push(resolve));
    return report([step('release-cache', 1)], { kernel_id: kernelId });
  };
  button(1).click();
  await until('the first', () => waiting.length === 1);
  button(0).click();
  await closed;
  waiting[0]();
  await until('the second', () => waiting.length === 2);
  waiting[1]();
  await until('toast', () => toasts().length === 1);
  expect(toasts()[0].message).toBe(size('Freed 2.0 GiB of 2 kernels.'));
  expect(model.watches).toBe(0);
});
