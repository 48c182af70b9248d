import React from 'react';
import { formatBytes, formatShare } from '../format';
import { warnIcon } from '../icons';
import type { Gpu, Snapshot, Thresholds } from '../service/wire';
import { Bar } from './bar';
import { usePanel } from './context';
import { freeBytes, gpuNumber, isHigh, isHot } from '../gpus';
import { barSentence } from './segments';

export interface IGpuRowsProps {
  snapshot: Snapshot;
  gpus: readonly Gpu[];
  thresholds: Thresholds;
  names: ReadonlyMap<string, string>;
  /** The GPU that the list is filtered by. */
  selected: string | null;
  /** Called with a GPU's uuid; null clears. */
  onSelect: (gpu: string | null) => void;
}

/** Many GPUs, one line each; a click filters the kernels by it, another clears. */
export function GpuRows(props: IGpuRowsProps): JSX.Element {
  const { gpus } = props;
  const { trans, locale } = usePanel();
  const sizes = new Set(gpus.map(({ memory }) => memory.total));
  return (
    <div
      className="jp-Vram-GpuRows"
      role="group"
      aria-label={trans.__('GPUs: click one to see its kernels only')}
    >
      <div className="jp-Vram-GpuRow jp-mod-head" aria-hidden="true">
        <span />
        <span className="jp-Vram-ellipsis">
          {sizes.size === 1 &&
            trans.__('%1 each', formatBytes(gpus[0].memory.total, { locale }))}
        </span>
        <span className="jp-Vram-number">{trans.__('GiB')}</span>
        <span className="jp-Vram-number">{trans.__('load')}</span>
        <span className="jp-Vram-number">{trans.__('°C')}</span>
      </div>
      {gpus.map(gpu => (
        <GpuRow key={gpu.uuid} gpu={gpu} {...props} />
      ))}
    </div>
  );
}

function GpuRow(props: IGpuRowsProps & { gpu: Gpu }): JSX.Element {
  const { snapshot, gpu, thresholds, names, selected, onSelect } = props;
  const { trans, locale } = usePanel();
  const on = selected === gpu.uuid;
  const hot = isHot(gpu, thresholds);
  const warn = (word: string): JSX.Element => (
    <warnIcon.react
      tag="span"
      className="jp-Vram-Icon jp-mod-inline"
      title={word}
    />
  );
  const bad = gpu.health === 'lost' || gpu.health === 'needs-reset';
  return (
    <button
      className="jp-Vram-GpuRow"
      aria-pressed={on}
      title={gpu.name}
      onClick={() => onSelect(on ? null : gpu.uuid)}
    >
      <span className="jp-Vram-hidden">
        {bad
          ? trans.__('GPU %1 stopped answering', gpuNumber(gpu, snapshot))
          : barSentence(trans, snapshot, gpu, names, locale)}
      </span>
      <b className="jp-Vram-number">{gpuNumber(gpu, snapshot)}</b>
      <Bar snapshot={snapshot} gpu={gpu} names={names} decorative />
      <span className="jp-Vram-number">
        {bad && warn(trans.__('Stopped answering'))}
        {isHigh(gpu, thresholds) && warn(trans.__('Nearly full'))}
        {trans.__(
          '%1 free',
          formatBytes(freeBytes(gpu), { bare: true, locale })
        )}
      </span>
      <span className="jp-Vram-number jp-Vram-muted">
        {formatShare(gpu.utilization.gpu, locale)}
      </span>
      <span
        className={`jp-Vram-number ${hot ? 'jp-mod-alert' : 'jp-Vram-muted'}`}
      >
        {hot && warn(trans.__('Hot'))}
        {gpu.temperature.now === null
          ? '—'
          : trans.__('%1°', Math.round(gpu.temperature.now))}
      </span>
    </button>
  );
}
