import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { MessageLoop } from '@lumino/messaging';
import { Panel, Widget } from '@lumino/widgets';
import { act } from 'react';
import * as mockup from '../../__tests__/mockup';
import { TAKEN_AT } from '../../__tests__/mockup';
import { fullPlan, report } from '../../__tests__/plans';
import type { Snapshot } from '../../service/wire';
import { CommandIDs } from '../../tokens';
import type { ConnectionStatus } from '../../tokens';
import { PanelBody } from '../body';
import type { Layout } from '../body';
import { FakeModel } from './fakemodel';

// jsdom draws no canvas; the chart itself is looked at in a real browser.
jest.mock('../chart', () => ({ HistoryChart: () => null }));

class Screen {
  constructor(
    snapshot: Snapshot | null,
    options: { status?: ConnectionStatus; layout?: Layout } = {}
  ) {
    this.model = new FakeModel(snapshot);
    this.model.status = options.status ?? 'live';
    const commands = new CommandRegistry();
    for (const id of Object.values(CommandIDs)) {
      commands.addCommand(id, {
        label: id,
        execute: args => {
          this.ran.push([id, args]);
        }
      });
    }
    this.body = new PanelBody(
      {
        model: this.model,
        trans: nullTranslator.load('jupyterlab_vram'),
        locale: 'en',
        commands,
        themes: null,
        report: work => void work,
        execute: (command, args) => void commands.execute(command, args)
      },
      options.layout ?? 'side'
    );
  }

  async show(): Promise<this> {
    await act(async () => {
      Widget.attach(this.body, document.body);
    });
    await this.settle();
    return this;
  }

  /** Let Lumino's and React's queues run dry. */
  async settle(): Promise<void> {
    await act(async () => {
      MessageLoop.flush();
      await this.body.renderPromise;
      await new Promise(resolve => setTimeout(resolve));
    });
  }

  async receive(snapshot: Snapshot, status?: ConnectionStatus): Promise<void> {
    this.model.receive(snapshot, status);
    await this.settle();
  }

  async click(element: Element): Promise<void> {
    await act(async () => {
      element.dispatchEvent(
        new MouseEvent('click', { bubbles: true, cancelable: true })
      );
    });
    await this.settle();
  }

  async press(key: string): Promise<void> {
    await act(async () => {
      document.activeElement!.dispatchEvent(
        new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })
      );
    });
    await this.settle();
  }

  all(selector: string): HTMLElement[] {
    return [...this.body.node.querySelectorAll<HTMLElement>(selector)];
  }

  one(selector: string): HTMLElement {
    const found = this.all(selector);
    expect([selector, found.length]).toEqual([selector, 1]);
    return found[0];
  }

  button(text: string): HTMLElement {
    const found = this.all('button').find(
      button =>
        button.textContent === text ||
        button.getAttribute('aria-label') === text
    );
    if (!found) {
      throw new Error(`There is no button "${text}".`);
    }
    return found;
  }

  readonly model: FakeModel;
  readonly body: PanelBody;
  readonly ran: [string, unknown][] = [];
}

const text = (element: Element): string =>
  element.textContent!.replace(/\u00a0/g, ' ');

let screen: Screen;

async function open(
  ...args: ConstructorParameters<typeof Screen>
): Promise<Screen> {
  screen = new Screen(...args);
  return await screen.show();
}

beforeAll(() => {
  // jsdom has neither layout nor CSS.escape.
  Element.prototype.scrollIntoView = () => undefined;
  window.CSS = { escape: (value: string) => value } as typeof CSS;
  (
    globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }
  ).IS_REACT_ACT_ENVIRONMENT = true;
});

afterEach(() => {
  screen.body.dispose();
});

describe('the panel', () => {
  it('shows every GPU, kernel, leftover and other process of the drawing', async () => {
    await open(mockup.panel());
    expect(screen.all('.jp-Vram-Gpu').map(card => text(card))).toEqual([
      'GPU 0NVIDIA GeForce RTX 40901.4 GiB free22.6 of 24.0 GiB used22.6 of 24.0 GiBBA97 % load86 °C hot287 W',
      'GPU 1NVIDIA GeForce RTX 409010.0 GiB free14.0 of 24.0 GiB used14.0 of 24.0 GiBACD41 % load61 °C168 W'
    ]);
    expect(screen.all('.jp-Vram-Title').map(title => text(title))).toEqual([
      'Kernels32.9 GiB',
      '3 kernels without GPU memory',
      'Leftover processes1.9 GiB',
      'Other processes1.8 GiB'
    ]);
    expect(text(screen.one('.jp-Vram-Hint-text'))).toBe(
      'embeddings.ipynb holds 11.2 GiB of GPU 0 and has been idle for 2 h.'
    );
    expect(text(screen.one('.jp-Vram-Hint-text b'))).toBe('embeddings.ipynb');
  });

  it('holds its watch only while it is on screen', async () => {
    screen = new Screen(mockup.panel());
    const host = new Panel();
    Widget.attach(host, document.body);
    expect(screen.model.watches).toBe(0);
    host.addWidget(screen.body);
    expect(screen.model.watches).toBe(1);
    await screen.settle();
    expect(screen.all('.jp-Vram-Gpu')).toHaveLength(2);
    host.hide();
    expect(screen.model.watches).toBe(0);
    await screen.receive(mockup.fleet());
    expect(screen.all('.jp-Vram-GpuRow')).toHaveLength(0);
    host.show();
    expect(screen.model.watches).toBe(1);
    await screen.settle();
    expect(screen.all('button.jp-Vram-GpuRow')).toHaveLength(8);
    host.dispose();
    expect(screen.model.watches).toBe(0);
  });

  it('opens the plan, pauses and ends leftovers by command', async () => {
    await open(mockup.panel());
    await screen.click(screen.button('Free memory of embeddings.ipynb…'));
    await screen.click(screen.button('Pause updates'));
    await screen.click(screen.button('End processes of old-train.ipynb…'));
    expect(screen.ran).toEqual([
      [CommandIDs.free, { kernelId: 'embeddings' }],
      [CommandIDs.togglePause, {}],
      [
        CommandIDs.end,
        {
          processes: [
            { pid: 2001, startedAt: TAKEN_AT - 10800 },
            { pid: 2002, startedAt: TAKEN_AT - 10800 }
          ]
        }
      ]
    ]);
  });

  it('hides the hint for an hour on Escape', async () => {
    await open(mockup.panel());
    screen.button('Free memory of embeddings.ipynb…').focus();
    await screen.press('Escape');
    expect(screen.all('.jp-Vram-Hint')).toEqual([]);
    await screen.receive({ ...mockup.panel(), taken_at: TAKEN_AT + 3600 });
    expect(screen.all('.jp-Vram-Hint')).toHaveLength(1);
  });

  it('shows hostile names as text', async () => {
    const name = '<img src=x onerror=alert(1)>.ipynb';
    const snapshot = mockup.panel();
    snapshot.kernels[0].notebook = name;
    snapshot.gpus[0].name = '<b>GPU</b>';
    await open(snapshot);
    expect(screen.all('img')).toEqual([]);
    expect(text(screen.all('.jp-Vram-Row-name')[0])).toBe(name);
  });

  it('turns actions off and figures grey when the server is silent', async () => {
    await open(mockup.panel());
    await screen.receive(mockup.panel(), 'stale');
    expect(screen.all('.jp-mod-stale')).toHaveLength(1);
    const enabled = screen
      .all('.jp-Vram-Grid button, .jp-Vram-List button')
      .filter(button => !(button as HTMLButtonElement).disabled);
    expect(enabled).toEqual([]);
    await screen.click(screen.button('Retry now'));
    expect(screen.model.calls).toEqual(['refresh']);
  });

  it('keeps the last figures while the driver hangs', async () => {
    await open(mockup.panel());
    await screen.receive(mockup.silent());
    expect(screen.all('.jp-Vram-Gpu')).toHaveLength(2);
    expect(screen.one('[role=alert]').textContent).toContain(
      'has not answered for 10 s'
    );
  });

  it('says on every screen that a simulated GPU is not real', async () => {
    await open(mockup.simulated());
    expect(text(screen.one('.jp-Vram-Ribbon'))).toContain('SIMULATED');
    await screen.click(screen.button('Turn off'));
    expect(screen.ran).toEqual([[CommandIDs.simulate, { on: false }]]);
  });

  it('loads a GPU’s history when it is opened, and the range that is chosen', async () => {
    await open(mockup.panel());
    expect(screen.model.calls).toEqual([]);
    await screen.click(screen.button('History of GPU 0'));
    await screen.click(screen.button('6 h'));
    expect(screen.model.calls).toEqual([
      'history 600 GPU-0',
      'history 21600 GPU-0'
    ]);
    expect(screen.button('6 h').getAttribute('aria-pressed')).toBe('true');
  });
});

describe('without a kernel on the GPU', () => {
  it('tells a new user what the panel can do', async () => {
    await open(mockup.idle());
    await screen.click(screen.button('What this panel can do'));
    const dialog = document.querySelector('.jp-Dialog')!;
    expect(dialog.querySelectorAll('li')).toHaveLength(5);
    expect([...dialog.querySelectorAll('kbd')].map(text)).toEqual([
      '↑ ↓',
      '→ ←',
      'F',
      'Space',
      'Shift F10'
    ]);
    dialog.querySelector<HTMLElement>('.jp-Dialog-button')!.click();
    await screen.settle();
    expect(document.querySelector('.jp-Dialog')).toBeNull();
  });
});

describe('the live region', () => {
  it('says states and results, never figures of every second', async () => {
    await open(mockup.panel());
    const status = screen.one('[role=status]');
    expect(status.textContent).toBe('');
    await screen.receive({ ...mockup.panel(), taken_at: TAKEN_AT + 1 });
    expect(status.textContent).toBe('');
    await screen.receive(mockup.panel(), 'paused');
    expect(status.textContent).toBe('Paused.');
    await screen.receive(mockup.panel());
    screen.model.reported.emit({
      type: 'report',
      version: '',
      schema: 1,
      kernel_id: 'embeddings',
      run_id: '1',
      finished: true,
      waiting: false,
      at: TAKEN_AT,
      steps: [],
      freed: mockup.gib(3.8),
      expected: null,
      remains: { bytes: null, why: null },
      survivors: []
    });
    await screen.settle();
    expect(text(status)).toBe('Freed 3.8 GiB of embeddings.ipynb.');
  });
});

describe('a kernel that something is done to', () => {
  it('is restored from its row while it is parked', async () => {
    await open(mockup.parked());
    const row = screen.one('.jp-Vram-Row[data-kernel="embeddings"]');
    const button = [...row.querySelectorAll('button')].find(
      node => node.textContent === 'Restore'
    )!;
    await screen.click(button);
    expect(screen.ran).toEqual([
      [CommandIDs.restore, { kernelId: 'embeddings' }]
    ]);
    expect(row.textContent).not.toContain('Free…');
  });

  it('says that it frees when idle, as long as it waits', async () => {
    await open(mockup.panel());
    const row = screen.one('.jp-Vram-Row[data-kernel="train-resnet"]');
    expect(text(row)).toContain('busy');
    screen.model.runs.set('train-resnet', {
      ...report([], { finished: false, waiting: true }),
      kernel_id: 'train-resnet'
    });
    await screen.receive(mockup.panel());
    expect(text(row)).toContain('frees when idle');
    screen.model.runs.clear();
    await screen.receive(mockup.panel());
    expect(text(row)).not.toContain('frees when idle');
  });

  it('shows what holds its memory after a plan was made', async () => {
    await open(mockup.panel());
    await screen.click(screen.one('.jp-Vram-Row[data-kernel="embeddings"]'));
    const detail = (): string => text(screen.one('.jp-Vram-Detail'));
    expect(detail()).not.toContain('Largest holders');
    screen.model.plans.set('embeddings', fullPlan());
    await screen.receive(mockup.panel());
    expect(detail()).toContain('Largest holders');
    expect(detail()).toContain(
      'emb_matrix3.3 GiBTensor float32 · 1,730,000 × 512'
    );
    expect(detail()).toContain('last error2.1 GiBTensor · 9 tensors');
  });
});

describe('the kernel list', () => {
  const focused = (): string | undefined =>
    (document.activeElement as HTMLElement).dataset.kernel;

  it('is one Tab stop whose arrows move between rows', async () => {
    await open(mockup.panel());
    const stops = screen
      .all('.jp-Vram-Grid [tabindex]')
      .filter(({ tabIndex }) => tabIndex === 0);
    expect(stops.map(({ dataset }) => dataset.kernel)).toEqual([
      'train-resnet'
    ]);
    stops[0].focus();
    await screen.press('ArrowDown');
    expect(focused()).toBe('embeddings');
    await screen.press('End');
    expect(focused()).toBe('sandbox');
    await screen.press('l');
    expect(focused()).toBe('llm-eval');
  });

  it('selects rows by key and by click, and frees them together', async () => {
    await open(mockup.panel());
    const row = (name: string) => screen.one(`[role=row][data-kernel=${name}]`);
    const selected = () =>
      screen
        .all('[aria-selected=true]')
        .map(({ dataset }) => dataset.kernel)
        .sort();
    expect(screen.all('[aria-multiselectable=true]')).toHaveLength(1);
    expect(screen.all('.jp-Vram-Selection')).toHaveLength(0);
    row('embeddings').focus();
    await screen.press(' ');
    await act(async () => {
      for (const [name, key] of [
        ['llm-eval', 'ctrlKey'],
        ['sandbox', 'metaKey'],
        ['train-resnet', 'shiftKey']
      ]) {
        row(name).dispatchEvent(
          new MouseEvent('click', { bubbles: true, [key]: true })
        );
      }
    });
    await screen.settle();
    expect(selected()).toEqual(['embeddings', 'llm-eval', 'sandbox']);
    expect(row('llm-eval').getAttribute('aria-expanded')).toBe('false');
    expect(text(screen.one('.jp-Vram-Selection'))).toBe(
      '3 selected · 17.1 GiBFree 3…Clear'
    );
    await screen.click(screen.button('Free 3…'));
    expect(screen.ran).toEqual([
      [
        CommandIDs.freeSeveral,
        { kernelIds: ['embeddings', 'llm-eval', 'sandbox'] }
      ]
    ]);
    row('sandbox').focus();
    await screen.press(' ');
    expect(selected()).toEqual(['embeddings', 'llm-eval']);
    await screen.click(screen.button('Clear'));
    expect(selected()).toEqual([]);
  });

  it('counts no kernel that a filter hides or that has ended', async () => {
    await open(mockup.panel());
    for (const name of ['embeddings', 'sandbox']) {
      screen.one(`[role=row][data-kernel=${name}]`).focus();
      await screen.press(' ');
    }
    const reading = mockup.panel();
    await screen.receive({
      ...reading,
      kernels: reading.kernels.filter(({ id }) => id !== 'sandbox')
    });
    expect(text(screen.one('.jp-Vram-Selection'))).toContain(
      '1 selected · 11.2 GiB'
    );
  });

  it('expands, reaches every button of the row, and comes back', async () => {
    await open(mockup.panel());
    screen.one('[role=row][data-kernel=embeddings]').focus();
    await screen.press('Enter');
    const row = screen.one('[data-kernel=embeddings][aria-level="1"]');
    expect(row.getAttribute('aria-expanded')).toBe('true');
    const detail = screen.one('[data-kernel=embeddings][aria-level="2"]');
    expect(text(detail)).toBe(
      'In use by PyTorch6.9 GiBCached by PyTorchRelease3.8 GiBDriver context· until restart0.5 GiBmeasured 3 s ago'
    );
    const reached: string[] = [];
    for (let i = 0; i < 3; i++) {
      await screen.press('ArrowRight');
      reached.push(document.activeElement!.textContent!);
    }
    expect(reached).toEqual(['Free…', '', 'Release']);
    await screen.press('Escape');
    expect(document.activeElement).toBe(row);
    await screen.press('f');
    expect(screen.ran).toEqual([[CommandIDs.free, { kernelId: 'embeddings' }]]);
    await screen.press('ArrowLeft');
    expect(row.getAttribute('aria-expanded')).toBe('false');
  });

  it('keeps the focus on its kernel when sizes change places', async () => {
    await open(mockup.panel());
    screen.one('[data-kernel=train-resnet]').focus();
    const snapshot = mockup.panel();
    snapshot.kernels[0].bytes = mockup.gib(0.1);
    await screen.receive(snapshot);
    expect(screen.all('.jp-Vram-Grid [data-kernel]')[3].dataset.kernel).toBe(
      'train-resnet'
    );
    expect(focused()).toBe('train-resnet');
  });

  it('scrolls to and focuses a kernel on demand, even a folded one', async () => {
    await open(mockup.panel());
    screen.body.reveal('plots');
    await screen.settle();
    expect(focused()).toBe('plots');
    await screen.click(screen.all('.jp-Vram-Seg.jp-mod-kernel')[0]);
    expect(focused()).toBe('embeddings');
  });

  it('draws only the rows near the visible part of a long list', async () => {
    await open(
      mockup.snapshot({
        gpus: [mockup.gpu(0, 80, 40)],
        kernels: Array.from({ length: 300 }, (_, i) =>
          mockup.kernel(`n${i}.ipynb`, { 'GPU-0': 1 + i / 1000 }, 60)
        )
      })
    );
    const rows = screen.all('.jp-Vram-Grid [data-kernel]');
    expect(rows.length).toBeLessThan(60);
    expect(screen.one('.jp-Vram-Grid').getAttribute('aria-rowcount')).toBe(
      '301'
    );
    rows[0].focus();
    await screen.press('End');
    expect(focused()).toBe('n0');
  });
});

describe('many GPUs', () => {
  it('filters the kernels by the GPU that is clicked, and clears', async () => {
    await open(mockup.fleet());
    const gpu7 = screen.all('button.jp-Vram-GpuRow')[7];
    await screen.click(gpu7);
    expect(gpu7.getAttribute('aria-pressed')).toBe('true');
    expect(text(screen.all('.jp-Vram-Title')[0])).toBe(
      'Kernels · 7 of 3049.1 GiB'
    );
    await screen.click(gpu7);
    expect(text(screen.all('.jp-Vram-Title')[0])).toBe('Kernels · 30511.2 GiB');
  });

  it('is compact by itself, and not when the setting says so', async () => {
    await open(mockup.fleet());
    expect(screen.all('.jp-Vram-Gpu')).toEqual([]);
    screen.body.density = 'normal';
    await screen.settle();
    expect(screen.all('.jp-Vram-Gpu')).toHaveLength(8);
  });

  it('shows a wide table that sorts', async () => {
    await open(mockup.fleet(), { layout: 'wide' });
    const names = (): string[] =>
      screen.all('tbody th').map(header => text(header).slice(1));
    expect(names()[0]).toBe('train-resnet.ipynb');
    await screen.click(screen.button('Kernel'));
    expect(names()[0]).toBe('anomaly-ae.ipynb');
    expect(screen.one('thead [aria-sort]').getAttribute('aria-sort')).toBe(
      'ascending'
    );
  });
});
