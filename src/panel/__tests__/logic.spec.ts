import { nullTranslator } from '@jupyterlab/translation';
import * as mockup from '../../__tests__/mockup';
import { gib, TAKEN_AT } from '../../__tests__/mockup';
import type { Snapshot } from '../../service/wire';
import { historyBands } from '../bands';
import { filterRows } from '../filters';
import {
  DEFAULT_THRESHOLDS,
  freeBytes,
  gpuLabel,
  gpuList,
  isHigh,
  isHot,
  shownGpus
} from '../../gpus';
import { pickHint } from '../hint';
import { kernelNames } from '../../names';
import { sumOfAll, sumOfKnown } from '../../sums';
import { leftovers, others } from '../processes';
import { kernelRows, trackBusy } from '../rows';
import type { IKernelRows } from '../rows';
import { barSentence, gpuSegments } from '../segments';
import { sparklinePath } from '../sparkline';
import { tableRows } from '../tablerows';
import { INITIAL_VIEW, isCompact } from '../view';

const trans = nullTranslator.load('jupyterlab_vram');
const NBSP = '\u00a0';

/** GiB with one decimal, as people see it. */
function shown(bytes: number | null): number | null {
  return bytes === null ? null : Math.round((bytes / 2 ** 30) * 10) / 10;
}

function rowsOf(
  snapshot: Snapshot,
  options: { stale?: boolean; busySince?: Map<string, number> } = {}
): IKernelRows {
  return kernelRows(snapshot, {
    trans,
    locale: 'en',
    thresholds: DEFAULT_THRESHOLDS,
    names: kernelNames(trans, snapshot.kernels),
    ...options
  });
}

describe('gpuSegments', () => {
  it('gives every byte of GPU 0 to somebody: 22.6 = 11.2 + 7.9 + 1.9 + 1.6', () => {
    const snapshot = mockup.panel();
    const [gpu] = snapshot.gpus;
    const segments = gpuSegments(snapshot, gpu);
    expect(
      segments.map(({ kind, kernelId, bytes }) => [
        kernelId ?? kind,
        shown(bytes)
      ])
    ).toEqual([
      ['embeddings', 11.2],
      ['train-resnet', 7.9],
      ['leftover', 1.9],
      ['other', 1.6]
    ]);
    expect(segments.reduce((all, { bytes }) => all + bytes, 0)).toBe(
      gpu.memory.used
    );
    expect(segments[0].share).toBeCloseTo(11.2 / 24, 4);
  });

  it('adds up on every GPU of the fleet', () => {
    const snapshot = mockup.fleet();
    for (const gpu of snapshot.gpus) {
      expect(
        gpuSegments(snapshot, gpu).reduce((all, { bytes }) => all + bytes, 0)
      ).toBe(gpu.memory.used);
    }
  });

  it('keeps the bar whole when estimates add up to more than the card has', () => {
    const snapshot = mockup.snapshot({
      gpus: [mockup.gpu(0, 10, 4)],
      kernels: [
        mockup.kernel('a.ipynb', { 'GPU-0': 8 }, 1),
        mockup.kernel('b.ipynb', { 'GPU-0': 12 }, 1)
      ]
    });
    const segments = gpuSegments(snapshot, snapshot.gpus[0]);
    expect(segments.map(({ share }) => share)).toEqual([0.6, 0.4]);
  });

  it('draws nothing of a GPU whose size is unknown', () => {
    const snapshot = mockup.gpuLost();
    expect(gpuSegments(snapshot, snapshot.gpus[0])).toEqual([]);
  });
});

describe('barSentence', () => {
  it('says who has how much, and what is free', () => {
    const snapshot = mockup.panel();
    const names = kernelNames(trans, snapshot.kernels);
    expect(barSentence(trans, snapshot, snapshot.gpus[0], names, 'en')).toBe(
      `GPU 0: 22.6 of 24.0${NBSP}GiB used. embeddings.ipynb 11.2, train-resnet.ipynb 7.9, leftover processes 1.9, other processes 1.6, 1.4 free.`
    );
  });

  it('says when the memory is unknown, never zero', () => {
    const snapshot = mockup.gpuLost();
    expect(
      barSentence(trans, snapshot, snapshot.gpus[0], new Map(), 'en')
    ).toBe('GPU 0: memory use unknown');
  });
});

describe('GPUs', () => {
  it('shows a cut card as its slices', () => {
    const snapshot = mockup.slices();
    const gpus = shownGpus(snapshot);
    expect(gpus.map(gpu => gpuLabel(trans, gpu, snapshot))).toEqual([
      'GPU 0 · slice 0',
      'GPU 0 · slice 1'
    ]);
    expect(gpuList(trans, ['MIG-2'], snapshot)).toBe('GPU 0:1');
  });

  it('names the GPUs of a kernel in order, and none as unknown', () => {
    const snapshot = mockup.panel();
    expect(gpuList(trans, ['GPU-1', 'GPU-0'], snapshot)).toBe('GPU 0, 1');
    expect(gpuList(trans, [], snapshot)).toBe('GPU —');
  });

  it('counts as nearly full from the threshold, never on shared RAM', () => {
    const exact = mockup.gpu(0, 10, 9);
    expect(isHigh(exact, DEFAULT_THRESHOLDS)).toBe(true);
    expect(isHigh(mockup.gpu(0, 10, 8.9), DEFAULT_THRESHOLDS)).toBe(false);
    const shared = { ...exact, memory: { ...exact.memory, unified: true } };
    expect(isHigh(shared, DEFAULT_THRESHOLDS)).toBe(false);
  });

  it.each([
    [83, 84, [], false],
    [84, 84, [], true],
    [79, null, [], false],
    [80, null, [], true],
    [null, null, [], false],
    [60, 84, ['heat'], true],
    [60, 84, ['power'], false]
  ])('at %s °C of %s with %j: hot is %s', (now, slowdown, throttling, hot) => {
    const gpu = mockup.gpu(0, 24, 1, {
      temperature: { now, slowdown },
      throttling
    });
    expect(isHot(gpu, DEFAULT_THRESHOLDS)).toBe(hot);
  });

  it('prefers the driver’s own figure of what is free', () => {
    const gpu = mockup.gpu(0, 24, 20);
    expect(
      freeBytes({ ...gpu, memory: { ...gpu.memory, free: gib(3.5) } })
    ).toBe(gib(3.5));
    expect(freeBytes({ ...gpu, memory: { ...gpu.memory, free: null } })).toBe(
      gib(4)
    );
  });
});

describe('pickHint', () => {
  it('points out the long-idle kernel on the nearly full card', () => {
    const hint = pickHint(mockup.panel(), DEFAULT_THRESHOLDS, new Map());
    expect(hint).toEqual({
      kernelId: 'embeddings',
      gpu: 'GPU-0',
      bytes: gib(11.2),
      idle: 7200
    });
  });

  it('stays away while dismissed, and comes back', () => {
    const look = (until: number) =>
      pickHint(
        mockup.panel(),
        DEFAULT_THRESHOLDS,
        new Map([['embeddings', until]])
      );
    expect(look(TAKEN_AT + 1)).toBeNull();
    expect(look(TAKEN_AT)).not.toBeNull();
  });

  it.each([
    ['the card is not nearly full', { high: 0.95 }],
    ['the kernel was active not long ago', { long_idle: 7201 }],
    ['the kernel holds little of it', { hint: 0.47 }]
  ])('says nothing when %s', (_, change) => {
    expect(
      pickHint(mockup.panel(), { ...DEFAULT_THRESHOLDS, ...change }, new Map())
    ).toBeNull();
  });

  it('never points at a busy kernel', () => {
    const snapshot = mockup.panel();
    snapshot.kernels[1].state = 'busy';
    expect(pickHint(snapshot, DEFAULT_THRESHOLDS, new Map())).toBeNull();
  });
});

describe('kernelRows', () => {
  it('sorts by size and sums to 32.9 GiB', () => {
    const rows = rowsOf(mockup.panel());
    expect(
      rows.holding.map(({ name, size, status, gpus }) => [
        name,
        size,
        status,
        gpus
      ])
    ).toEqual([
      ['train-resnet.ipynb', `15.8${NBSP}GiB`, 'busy', 'GPU 0, 1'],
      ['embeddings.ipynb', `11.2${NBSP}GiB`, 'idle 2 h', 'GPU 0'],
      ['llm-eval.ipynb', `5.4${NBSP}GiB`, 'idle 12 min', 'GPU 1'],
      ['sandbox.ipynb', `0.5${NBSP}GiB`, 'idle 5 min', 'GPU 1']
    ]);
    expect(shown(rows.total)).toBe(32.9);
    expect(rows.without.map(({ name }) => name)).toEqual([
      'etl.ipynb',
      'notes.ipynb',
      'plots.ipynb'
    ]);
  });

  it('says a row in a sentence', () => {
    expect(rowsOf(mockup.panel()).holding[1].sentence).toBe(
      `embeddings.ipynb, 11.2${NBSP}GiB on GPU 0, idle 2 h`
    );
  });

  it('marks the framework’s figure, and keeps an unknown one unknown', () => {
    const rows = rowsOf(mockup.windows());
    expect(rows.holding.map(({ size, status }) => [size, status])).toEqual([
      [`≈${NBSP}4.9${NBSP}GiB`, 'idle 12 min'],
      ['—', 'hidden by the driver']
    ]);
    expect(shown(rows.total)).toBe(4.9);
    expect(rows.approximate).toBe(true);
  });

  it('has no total where no size is known', () => {
    const snapshot = mockup.snapshot({
      kernels: [mockup.kernel('a.ipynb', { 'GPU-0': null }, 1)]
    });
    expect(rowsOf(snapshot).total).toBeNull();
    expect(rowsOf(mockup.idle()).total).toBe(0);
  });

  it('keeps a parked kernel and one on another computer in the list', () => {
    const snapshot = mockup.snapshot({
      kernels: [
        mockup.kernel('far.ipynb', {}, 1, { bytes: null, host: 'node7' }),
        mockup.kernel('parked.ipynb', {}, 1, { parked: gib(6.9) })
      ]
    });
    expect(
      rowsOf(snapshot).holding.map(({ state, status }) => [state, status])
    ).toEqual([
      ['parked', `6.9${NBSP}GiB in RAM`],
      ['unknown', 'runs on another computer']
    ]);
  });

  it('speaks of the past when the reading is old', () => {
    expect(
      rowsOf(mockup.panel(), { stale: true })
        .holding.slice(0, 2)
        .map(({ status }) => status)
    ).toEqual(['was busy', 'was idle']);
  });

  it('says how long a kernel is busy only if it was seen to begin', () => {
    const now = mockup.panel();
    const before: Snapshot = {
      ...now,
      kernels: now.kernels.map(kernel => ({ ...kernel, state: 'idle' }))
    };
    const since = new Map<string, number>();
    trackBusy(since, null, now);
    expect(since.size).toBe(0);
    trackBusy(since, before, now);
    expect(since.get('train-resnet')).toBe(TAKEN_AT);
    const later = { ...now, taken_at: TAKEN_AT + 250 };
    trackBusy(since, now, later);
    expect(rowsOf(later, { busySince: since }).holding[0].status).toBe(
      'busy · 4 min'
    );
    trackBusy(since, later, before);
    expect(since.size).toBe(0);
  });
});

describe('kernelNames', () => {
  it('adds the folder where two notebooks have one name', () => {
    const kernels = [
      mockup.kernel('run.ipynb', {}, 1, { id: '1', notebook: 'a/run.ipynb' }),
      mockup.kernel('run.ipynb', {}, 1, { id: '2', notebook: 'b/c/run.ipynb' }),
      mockup.kernel('x.ipynb', {}, 1, { id: '3', notebook: 'd/x.ipynb' }),
      mockup.kernel('', {}, 1, {
        id: '4444444455',
        notebook: null,
        sessions: []
      })
    ];
    expect([...kernelNames(trans, kernels).values()]).toEqual([
      'a/run.ipynb',
      'c/run.ipynb',
      'x.ipynb',
      'python3 kernel 44444444'
    ]);
  });
});

describe('processes', () => {
  it('puts one kernel’s leftovers on one line, with what End needs', () => {
    const [line, ...more] = leftovers(trans, mockup.panel());
    expect(more).toEqual([]);
    expect(line.name).toBe('old-train.ipynb');
    expect(shown(line.bytes)).toBe(1.9);
    expect(line.processes).toEqual([
      { pid: 2001, startedAt: TAKEN_AT - 3 * 3600 },
      { pid: 2002, startedAt: TAKEN_AT - 3 * 3600 }
    ]);
  });

  it('shows other users as one total, without names', () => {
    const lines = others(trans, {
      ...mockup.panel(),
      holders: [
        mockup.holder('GPU-0', 1, 1.1, 'other-user', { name: 'secret.py' }),
        mockup.holder('GPU-1', 2, 0.2, 'other-user', { evidence: 'secret' }),
        mockup.holder('GPU-0', 3, 0.5, 'system', { name: 'Xorg' })
      ]
    });
    expect(
      lines.map(({ name, bytes, uuids, count }) => [
        name,
        shown(bytes),
        uuids,
        count
      ])
    ).toEqual([
      ['Other users', 1.3, ['GPU-0', 'GPU-1'], 2],
      ['Desktop and system', 0.5, ['GPU-0'], 1]
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('calls the rest what it is: not attributed, or outside the container', () => {
    expect(
      others(trans, mockup.container()).map(({ name, bytes }) => [
        name,
        shown(bytes)
      ])
    ).toEqual([['Outside this container', 38.9]]);
    expect(others(trans, mockup.simulated())[0].name).toBe('Not attributed');
  });

  it('sums only what is known', () => {
    expect(sumOfKnown([])).toBe(0);
    expect(sumOfKnown([null, 1])).toBe(1);
    expect(sumOfKnown([null, null])).toBeNull();
    expect(sumOfAll([])).toBe(0);
    expect(sumOfAll([null, 1])).toBeNull();
    expect(sumOfAll([1, 2])).toBe(3);
  });
});

describe('the wide table', () => {
  const snapshot = mockup.fleet();
  const { holding } = rowsOf(snapshot);

  it('sorts by any column, unknown values last both ways', () => {
    const kernels = [
      ...snapshot.kernels.slice(0, -1),
      { ...snapshot.kernels[29], frameworks: {} }
    ];
    for (const descending of [true, false]) {
      const rows = tableRows(
        holding,
        kernels,
        { column: 'live', descending },
        'en'
      );
      expect(rows).toHaveLength(30);
      expect(rows[29].id).toBe('sandbox');
      expect(rows[0].id).toBe(descending ? 'train-resnet' : 'topic-model');
    }
    expect(
      tableRows(
        holding,
        kernels,
        { column: 'name', descending: false },
        'en'
      )[0].name
    ).toBe('anomaly-ae.ipynb');
  });

  it('sums to 511.2 GiB, and 7 of 30 rows on GPU 7 to 49.1', () => {
    expect(shown(sumOfKnown(holding.map(({ bytes }) => bytes)))).toBe(511.2);
    const rows = filterRows(holding, { ...INITIAL_VIEW, gpu: 'GPU-7' });
    expect(rows).toHaveLength(7);
    expect(shown(sumOfKnown(rows.map(({ bytes }) => bytes)))).toBe(49.1);
  });

  it('finds the long-idle ones: 7 of 30, 141.8 GiB', () => {
    const rows = filterRows(holding, { ...INITIAL_VIEW, longIdleOnly: true });
    expect(rows).toHaveLength(7);
    expect(shown(sumOfKnown(rows.map(({ bytes }) => bytes)))).toBe(141.8);
  });

  it('finds by any part of the name', () => {
    expect(
      filterRows(holding, { ...INITIAL_VIEW, name: 'EVAL' }).map(({ id }) => id)
    ).toEqual(['llm-eval', 'ranker-eval']);
  });
});

describe('isCompact', () => {
  it.each([
    ['auto', 4, 12, false],
    ['auto', 5, 0, true],
    ['auto', 1, 13, true],
    ['normal', 8, 30, false],
    ['compact', 1, 1, true]
  ] as const)(
    '%s with %i GPUs and %i kernels: %s',
    (density, gpus, kernels, compact) => {
      expect(isCompact(density, gpus, kernels)).toBe(compact);
    }
  );
});

describe('historyBands', () => {
  it('stacks kernels by size under what nobody holds, and keeps gaps', () => {
    const gpu = mockup.gpu(0, 24, 3);
    const { times, bands, load } = historyBands(
      {
        version: '',
        schema: 1,
        step: 5,
        from: 0,
        gpus: {
          'GPU-0': {
            used: [gib(1), null, gib(3)],
            utilization: [0.5, null, 1]
          }
        },
        kernels: {
          small: { 'GPU-0': [null, null, gib(0.5)] },
          large: { 'GPU-0': [gib(1), null, gib(2)] },
          elsewhere: { 'GPU-1': [gib(9), gib(9), gib(9)] }
        }
      },
      gpu
    );
    expect(times).toEqual([-10, -5, 0]);
    expect(bands).toEqual([
      { kernelId: 'large', values: [1, null, 2] },
      { kernelId: 'small', values: [0, null, 0.5] },
      { kernelId: null, values: [0, null, 0.5] }
    ]);
    expect(load).toEqual([50, null, 100]);
  });
});

describe('sparklinePath', () => {
  it('runs from zero to the most, with gaps where nothing was read', () => {
    expect(sparklinePath([0, 2, null, 1])).toBe('M0.0 13.0L18.0 2.0M54.0 7.5');
    expect(sparklinePath([])).toBe('');
    expect(sparklinePath([0, 0])).toBe('');
  });
});
