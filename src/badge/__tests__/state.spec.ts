/* eslint-disable jupyter/no-untranslated-string -- expected texts */
import { nullTranslator } from '@jupyterlab/translation';
import {
  gib,
  kernel,
  panel,
  parked,
  simulated,
  unified
} from '../../__tests__/mockup';
import { report, step } from '../../__tests__/plans';
import type { VramModel } from '../../model/model';
import {
  CONFIG,
  readModel,
  snapshot,
  TestServer
} from '../../service/__tests__/server';
import type { Snapshot } from '../../service/wire';
import { badgeState } from '../state';

const LANGUAGE = {
  trans: nullTranslator.load('jupyterlab_vram'),
  locale: 'en'
};

describe('badgeState', () => {
  let server: TestServer;
  let model: VramModel;

  beforeEach(async () => {
    server = await TestServer.start();
  });

  afterEach(async () => {
    model.dispose();
    await server.stop();
  });

  async function state(kernelId: string | null, reading: Partial<Snapshot>) {
    server.answers['GET snapshot'] = { body: snapshot(reading) };
    model = await readModel(server);
    return badgeState(model, kernelId, LANGUAGE);
  }

  /** As text that a person reads: no-break spaces are spaces. */
  const plain = (value: unknown) =>
    JSON.parse(JSON.stringify(value).replaceAll('\u00a0', ' '));

  it('is as drawn in 3a: a notebook on a GPU with room', async () => {
    const reading = panel();
    reading.kernels[2].frameworks = {
      torch: {
        live: gib(4.1),
        cached: gib(0.8),
        context: gib(0.5),
        peak: gib(5.4)
      }
    };
    expect(plain(await state('llm-eval', reading))).toEqual({
      kind: 'normal',
      action: 'open',
      key: { letter: 'C', index: 2 },
      bar: { others: expect.closeTo(8.6 / 24), own: expect.closeTo(5.4 / 24) },
      size: '5.4 GiB',
      note: null,
      simulated: false,
      faded: false,
      label: 'This notebook holds 5.4 GiB on GPU 1.',
      tip: {
        title: 'This notebook: 5.4 GiB on GPU 1',
        rows: [
          ['In use by tensors', '4.1 GiB'],
          ['Cached, can be freed at once', '0.8 GiB'],
          ['Driver context', '0.5 GiB']
        ],
        lines: ['GPU 1: 10.0 GiB free of 24.0 GiB. Click to open.']
      }
    });
  });

  it('is as drawn in 3b: a notebook on a GPU that is nearly full', async () => {
    expect(plain(await state('train-resnet', panel()))).toEqual({
      kind: 'high',
      action: 'free',
      key: { letter: 'A', index: 0 },
      bar: { others: expect.closeTo(14.7 / 24), own: expect.closeTo(7.9 / 24) },
      size: '15.8 GiB',
      note: '· 94 % full',
      simulated: false,
      faded: false,
      label: 'This notebook holds 15.8 GiB. GPU 0 is 94 % full.',
      tip: {
        title: 'GPU 0 is nearly full: 1.4 GiB free',
        rows: [
          ['This notebook', '7.9 GiB'],
          ['embeddings.ipynb, idle 2 h', '11.2 GiB'],
          ['Not notebooks', '3.5 GiB']
        ],
        lines: [
          'This notebook also holds 7.9 GiB on GPU 1.',
          'Click to free memory.'
        ]
      }
    });
  });

  it('is as drawn in 3e: parked', async () => {
    expect(plain(await state('embeddings', parked()))).toEqual({
      kind: 'parked',
      action: 'restore',
      key: { letter: 'A', index: 0 },
      bar: null,
      size: 'Parked · 6.9 GiB in host RAM',
      note: null,
      simulated: false,
      faded: false,
      label: 'The GPU memory of this notebook is parked: 6.9 GiB in host RAM.',
      tip: {
        title: '6.9 GiB of this notebook waits in host RAM',
        rows: [],
        lines: [
          'The kernel keeps all variables and 0.5 GiB of GPU 0.',
          'The next cell you run brings the parked data back if 6.9 GiB is free.',
          'Click to restore now.'
        ]
      }
    });
  });

  it('says what was done and when, before what a click does', async () => {
    await state('llm-eval', panel());
    server.answers['POST kernels/llm-eval/remedies'] = {
      body: {
        ...report([
          step('release-cache', 3.8),
          step('unpin-outputs', null, { ok: false })
        ]),
        kernel_id: 'llm-eval'
      }
    };
    await model.run('llm-eval', { remedies: [{ id: 'release-cache' }] });
    const lines = badgeState(model, 'llm-eval', LANGUAGE)!.tip.lines;
    expect(plain(lines)).toEqual([
      expect.stringMatching(
        /^At \d\d:\d\d:\d\d: freed 3\.8 GiB \(Release cached blocks\)\.$/
      ),
      'GPU 1: 10.0 GiB free of 24.0 GiB. Click to open.'
    ]);
    expect(badgeState(model, 'sandbox', LANGUAGE)!.tip.lines).toHaveLength(1);
  });

  it("takes the server's threshold", async () => {
    server.answers['GET config'] = {
      body: { ...CONFIG, thresholds: { ...CONFIG.thresholds, high: 0.95 } }
    };
    expect((await state('train-resnet', panel()))?.kind).toBe('normal');
  });

  it('says — where the driver hides the size', async () => {
    const found = plain(await state('windows-run', parked()));
    expect(found).toMatchObject({
      kind: 'unknown',
      action: 'help',
      size: '— GiB',
      bar: null
    });
    expect(found.tip.title).toBe('Size unknown');
    expect(found.tip.lines).toContain(
      'GPU 0 as a whole: 22.6 of 24.0 GiB used.'
    );
  });

  it('says — where the driver shows no processes', async () => {
    const reading = panel();
    reading.views = {
      processes: 'none',
      sizes: 'none',
      reason: 'This container hides processes.'
    };
    reading.kernels = [kernel('a.ipynb', {}, 1, { bytes: null })];
    const found = await state('a', reading);
    expect(found?.kind).toBe('unknown');
    expect(found?.tip.lines).toContain('This container hides processes.');
  });

  it('does not hang a badge on a kernel that holds nothing', async () => {
    expect(await state('notes', panel())).toBeNull();
  });

  it('does not hang a badge on a kernel of unknown size without a GPU', async () => {
    const idle = kernel('a.ipynb', {}, 1, { bytes: null });
    expect(await state('a', { kernels: [idle] })).toBeNull();
  });

  it('knows no badge without a kernel', async () => {
    expect(await state(null, panel())).toBeNull();
    expect(badgeState(model, 'nobody', LANGUAGE)).toBeNull();
  });

  it('says that the GPU is simulated', async () => {
    const found = await state('demo-train', simulated());
    expect(found?.simulated).toBe(true);
    expect(found?.tip.lines[0]).toBe('Simulated: this is no real GPU.');
  });

  it('marks a figure that is not the driver’s', async () => {
    const reading = panel();
    for (const holder of reading.holders) {
      if (holder.kernel_id === 'llm-eval') {
        holder.bytes_from = 'kernel';
      }
    }
    expect(plain(await state('llm-eval', reading)).size).toBe('≈ 5.4 GiB');
  });

  it('has no share of memory that the whole computer uses', async () => {
    const reading = unified();
    const holding = reading.kernels.find(kernel => kernel.bytes);
    const found = await state(holding!.id, reading);
    expect(found?.kind).toBe('normal');
    expect(found?.bar).toBeNull();
  });

  it('fades while paused and says since when', async () => {
    await state('llm-eval', panel());
    model.pause();
    const found = badgeState(model, 'llm-eval', LANGUAGE);
    expect(found?.faded).toBe(true);
    expect(found?.tip.lines[0]).toMatch(/^Paused at \d\d:\d\d:\d\d\.$/);
  });

  it('fades while the driver gives no reading, and says why', async () => {
    const found = await state('llm-eval', {
      ...panel(),
      state: 'timeout',
      problem: {
        code: 'timeout',
        text: 'The driver does not answer.',
        hint: '',
        tried: []
      }
    });
    expect(found?.faded).toBe(true);
    expect(found?.tip.lines[0]).toBe('The driver does not answer.');
  });

  it('is gone when the server has another version', async () => {
    await state('llm-eval', panel());
    server.answers['GET snapshot'] = { body: snapshot({ version: '99.0.0' }) };
    await model.refresh();
    expect(badgeState(model, 'llm-eval', LANGUAGE)).toBeNull();
  });
});
