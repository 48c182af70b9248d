import {
  Chart,
  Filler,
  LinearScale,
  LineController,
  LineElement,
  PointElement
} from 'chart.js';
import type { ChartConfiguration, ChartDataset, Plugin } from 'chart.js';
import React from 'react';
import { formatBytes } from '../format';
import { hueClass } from '../kernelkey';
import type { Gpu, History } from '../service/wire';
import type { IKernelKey } from '../tokens';
import { historyBands } from './bands';
import type { IBands } from './bands';
import { usePanel } from './context';
import type { Span } from './view';

Chart.register(Filler, LinearScale, LineController, LineElement, PointElement);

const GIB = 2 ** 30;

/** A band lower than this, in pixels, has no room for its letter. */
const LETTER_ROOM = 9;

export interface IHistoryChartProps {
  gpu: Gpu;
  label: string;
  names: ReadonlyMap<string, string>;
  record: History;
  span: Span;
}

/** Stacked memory by kernel with the load on top; a hidden table says the last values. */
export function HistoryChart(props: IHistoryChartProps): JSX.Element {
  const { gpu, label, names, record, span } = props;
  const { model, trans, locale, themes } = usePanel();
  const canvas = React.useRef<HTMLCanvasElement>(null);
  const [theme, setTheme] = React.useState(0);
  const bands = React.useMemo(
    () => historyBands(record, gpu),
    [record, gpu.uuid]
  );
  const total = (gpu.memory.total ?? 0) / GIB;

  React.useEffect(() => {
    const rebuild = (): void => setTheme(count => count + 1);
    themes?.themeChanged.connect(rebuild);
    return () => {
      themes?.themeChanged.disconnect(rebuild);
    };
  }, [themes]);

  React.useEffect(() => {
    const words = span === 600 ? [10, 5] : span === 3600 ? [60, 30] : [6, 3];
    const ago = (value: number): string =>
      span === 21600 ? trans.__('−%1 h', value) : trans.__('−%1 min', value);
    const chart = new Chart(
      canvas.current!,
      configuration(canvas.current!, bands, {
        keyOf: id => model.keyOf(id),
        total,
        span,
        ticks: [ago(words[0]), ago(words[1]), trans.__('now')]
      })
    );
    return () => chart.destroy();
  }, [bands, total, span, theme, model, trans]);

  const last = (values: readonly (number | null)[]): number | null =>
    values[values.length - 1] ?? null;
  const rows = bands.bands.map(({ kernelId, values }) => {
    const value = last(values);
    return {
      id: kernelId ?? '',
      name:
        kernelId === null
          ? trans.__('Other processes')
          : (names.get(kernelId) ?? trans.__('A kernel that has ended')),
      size: formatBytes(value === null ? null : value * GIB, { locale })
    };
  });
  return (
    <>
      <div className="jp-Vram-Hist-canvas">
        <canvas
          ref={canvas}
          role="img"
          aria-label={trans.__('History of the memory of %1', label)}
        />
      </div>
      <table className="jp-Vram-hidden">
        <caption>{trans.__('Latest figures of %1', label)}</caption>
        <tbody>
          {rows.map(({ id, name, size }) => (
            <tr key={id}>
              <th scope="row">{name}</th>
              <td>{size}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

interface IDrawOptions {
  keyOf: (kernelId: string) => IKernelKey | null;
  /** The GPU's memory in GiB. */
  total: number;
  span: Span;
  /** What the left, middle and right of the time axis are called. */
  ticks: [string, string, string];
}

function configuration(
  canvas: HTMLCanvasElement,
  { times, bands, load }: IBands,
  { keyOf, total, span, ticks }: IDrawOptions
): ChartConfiguration<'line'> {
  const style = getComputedStyle(canvas);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const points = (values: readonly (number | null)[]) =>
    times.map((x, i) => ({ x, y: values[i] ?? NaN }));
  const line = { pointRadius: 0, animation: false, spanGaps: false } as const;
  const loadPoints = points(load);
  const datasets: ChartDataset<'line', { x: number; y: number }[]>[] = [
    // Chart.js draws the last one first.
    {
      ...line,
      data: loadPoints,
      yAxisID: 'load',
      stack: 'load',
      borderColor: color('--jp-ui-font-color1'),
      borderWidth: 1.2
    },
    {
      ...line,
      data: loadPoints,
      yAxisID: 'load',
      stack: 'halo',
      borderColor: color('--jp-layout-color1'),
      borderWidth: 3
    },
    ...bands.map(({ kernelId, values }, i) => ({
      ...line,
      data: points(values),
      stack: 'memory',
      fill: i === 0 ? ('origin' as const) : ('-1' as const),
      borderColor: color('--jp-layout-color1'),
      borderWidth: 1,
      backgroundColor: pattern(
        canvas,
        kernelId === null ? null : keyOf(kernelId)
      )
    }))
  ];
  const tick = { color: color('--jp-ui-font-color2'), font: { size: 10 } };
  return {
    type: 'line',
    data: { datasets },
    plugins: [
      letters(
        bands.map(({ kernelId }) =>
          kernelId === null ? null : keyOf(kernelId)
        )
      )
    ],
    options: {
      animation: false,
      events: [],
      maintainAspectRatio: false,
      normalized: true,
      parsing: false,
      layout: { padding: { right: 16, top: 4 } },
      font: { family: style.fontFamily },
      scales: {
        x: {
          type: 'linear',
          min: -span,
          max: 0,
          grid: { display: false },
          border: { color: color('--jp-border-color1') },
          afterBuildTicks: axis => {
            axis.ticks = [-span, -span / 2, 0].map(value => ({ value }));
          },
          ticks: {
            ...tick,
            align: 'inner',
            maxRotation: 0,
            callback: (_, i) => ticks[i]
          }
        },
        y: {
          min: 0,
          max: total,
          stacked: true,
          grid: { color: color('--jp-border-color2') },
          border: { display: false },
          afterBuildTicks: axis => {
            axis.ticks = [0, total / 2, total].map(value => ({ value }));
          },
          ticks: { ...tick, callback: value => Math.round(Number(value)) }
        },
        load: { display: false, min: 0, max: 100 }
      }
    }
  };
}

/** A band's letter beside its right end. */
function letters(keys: (IKernelKey | null)[]): Plugin<'line'> {
  return {
    id: 'jupyterlab-vram-letters',
    afterDatasetsDraw: chart => {
      const { ctx, chartArea } = chart;
      const offset = chart.data.datasets.length - keys.length;
      ctx.save();
      ctx.font = `700 10px ${getComputedStyle(chart.canvas).fontFamily}`;
      ctx.fillStyle = getComputedStyle(chart.canvas).color;
      ctx.textBaseline = 'middle';
      let bottom = chartArea.bottom;
      keys.forEach((key, i) => {
        const { data } = chart.getDatasetMeta(offset + i);
        const top = data[data.length - 1]?.y ?? NaN;
        if (key && bottom - top >= LETTER_ROOM) {
          ctx.fillText(key.letter, chartArea.right + 4, (bottom + top) / 2);
        }
        bottom = Number.isNaN(top) ? bottom : top;
      });
      ctx.restore();
    }
  };
}

/** A kernel's hue and texture as a fill; hatched for what no kernel holds. */
function pattern(
  canvas: HTMLCanvasElement,
  key: IKernelKey | null
): CanvasPattern | string {
  const size = 5;
  const tile = document.createElement('canvas');
  tile.width = tile.height = size;
  const ctx = tile.getContext('2d')!;
  const sample = document.createElement('span');
  sample.className = key ? hueClass(key) : '';
  canvas.parentElement!.append(sample);
  const style = getComputedStyle(sample);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  ctx.fillStyle = color(key ? '--vram-hue' : '--vram-other-ground');
  ctx.fillRect(0, 0, size, size);
  ctx.fillStyle = ctx.strokeStyle = color(
    key ? '--vram-texture' : '--vram-other-line'
  );
  sample.remove();
  switch (key ? (key.index + Math.floor(key.index / 8)) % 4 : 'other') {
    case 1:
      ctx.fillRect(1, 1, 2, 2);
      break;
    case 2:
      ctx.fillRect(0, 0, 1, size);
      break;
    case 3:
      ctx.fillRect(0, 0, size, 1);
      break;
    case 'other':
      ctx.beginPath();
      ctx.moveTo(-1, size + 1);
      ctx.lineTo(size + 1, -1);
      ctx.stroke();
      break;
  }
  return ctx.createPattern(tile, 'repeat')!;
}
