import { caretDownIcon, caretRightIcon } from '@jupyterlab/ui-components';
import React from 'react';
import {
  formatBytes,
  formatPower,
  formatShare,
  formatTemperature
} from '../format';
import { warnIcon } from '../icons';
import type { Gpu, Snapshot, Thresholds } from '../service/wire';
import { Bar } from './bar';
import { usePanel } from './context';
import { freeBytes, gpuLabel, isHigh, isHot, usedOfTotal } from '../gpus';
import { History } from './history';
import type { Span } from './view';

export interface IGpuCardProps {
  snapshot: Snapshot;
  gpu: Gpu;
  thresholds: Thresholds;
  names: ReadonlyMap<string, string>;
  /** The open history's range, null while it is closed. */
  span: Span | null;
  onSpan: (span: Span | null) => void;
  onKernel: (kernelId: string) => void;
}

/** One GPU: what is free, who has the rest, and how hard it works. */
export function GpuCard(props: IGpuCardProps): JSX.Element {
  const { snapshot, gpu, thresholds, names, span, onSpan, onKernel } = props;
  const { trans, locale } = usePanel();
  const label = gpuLabel(trans, gpu, snapshot);
  const high = isHigh(gpu, thresholds);
  const open = span !== null;
  const free = formatBytes(freeBytes(gpu), { locale });
  return (
    <div className="jp-Vram-Gpu" role="group" aria-label={label}>
      <div className="jp-Vram-Gpu-name">
        <b>{label}</b>
        <span className="jp-Vram-ellipsis jp-Vram-muted" title={gpu.name}>
          {gpu.name}
        </span>
      </div>
      {gpu.health === 'lost' || gpu.health === 'needs-reset' ? (
        <Trouble gpu={gpu} label={label} />
      ) : (
        <>
          <div className="jp-Vram-Gpu-memory">
            {high && (
              <warnIcon.react
                tag="span"
                className="jp-Vram-Icon jp-mod-inline"
                title={trans.__('Nearly full')}
              />
            )}
            {gpu.memory.unified ? (
              <b className="jp-Vram-number">
                {trans.__(
                  'Free: %1 of %2',
                  formatBytes(freeBytes(gpu), { bare: true, locale }),
                  formatBytes(gpu.memory.total, { locale })
                )}
              </b>
            ) : (
              <>
                <b className="jp-Vram-number">{trans.__('%1 free', free)}</b>
                <span className="jp-Vram-number jp-Vram-muted jp-Vram-end">
                  <span className="jp-Vram-wide">
                    {trans.__('%1 used', usedOfTotal(trans, gpu, locale))}
                  </span>
                  <span className="jp-Vram-narrow">
                    {usedOfTotal(trans, gpu, locale)}
                  </span>
                </span>
              </>
            )}
          </div>
          <Bar
            snapshot={snapshot}
            gpu={gpu}
            names={names}
            onKernel={onKernel}
          />
          {gpu.memory.unified && (
            <p className="jp-Vram-Gpu-note">
              {trans.__('This GPU shares the computer’s RAM.')}
            </p>
          )}
          {gpu.memory.used === null && (
            <p className="jp-Vram-Gpu-note">
              {gpu.unknown['memory.used'] === undefined
                ? trans.__('The driver gives no memory figures for %1.', label)
                : trans.__(
                    'The driver gives no memory figures for %1: %2',
                    label,
                    gpu.unknown['memory.used']
                  )}
            </p>
          )}
          <div className="jp-Vram-Readings">
            <Readings gpu={gpu} thresholds={thresholds} />
            <button
              className="jp-Vram-IconButton jp-Vram-end"
              aria-expanded={open}
              aria-label={trans.__('History of %1', label)}
              title={open ? trans.__('Hide history') : trans.__('Show history')}
              onClick={() => onSpan(open ? null : 600)}
            >
              {open ? (
                <caretDownIcon.react tag="span" className="jp-Vram-Icon" />
              ) : (
                <caretRightIcon.react
                  tag="span"
                  className="jp-Vram-Icon jp-mod-forward"
                />
              )}
            </button>
          </div>
          {open && (
            <History
              gpu={gpu}
              label={label}
              names={names}
              span={span}
              onSpan={onSpan}
              takenAt={snapshot.taken_at}
            />
          )}
        </>
      )}
    </div>
  );
}

/** A card whose driver has given up on it. */
function Trouble({ gpu, label }: { gpu: Gpu; label: string }): JSX.Element {
  const { trans } = usePanel();
  return (
    <p className="jp-Vram-Gpu-trouble">
      <warnIcon.react tag="span" className="jp-Vram-Icon jp-mod-inline" />
      <span>
        {gpu.health === 'lost'
          ? trans.__(
              '%1 stopped answering. Its kernels can’t be measured. Restart the computer or ask your admin.',
              label
            )
          : trans.__(
              '%1 needs a reset. What runs on it may fail. Restart the computer or ask your admin.',
              label
            )}
      </span>
    </p>
  );
}

function Readings(props: { gpu: Gpu; thresholds: Thresholds }): JSX.Element {
  const { gpu, thresholds } = props;
  const { trans, locale } = usePanel();
  const hot = isHot(gpu, thresholds);
  const limited = gpu.throttling.includes('power');
  const temperature = formatTemperature(gpu.temperature.now, locale);
  const power = formatPower(gpu.power.draw, locale);
  const slice = gpu.parent !== null && gpu.utilization.gpu === null;
  const { slowdown } = gpu.temperature;
  return (
    <>
      <span
        title={
          slice
            ? trans.__('Not measured per slice')
            : trans.__('Share of time the GPU computed')
        }
      >
        {trans.__('%1 load', formatShare(gpu.utilization.gpu, locale))}
      </span>
      <span
        className={hot ? 'jp-mod-alert' : ''}
        title={
          gpu.throttling.includes('heat')
            ? trans.__('Slowed down by heat')
            : slowdown === null
              ? trans.__('Temperature')
              : trans.__(
                  'Slows down at %1',
                  formatTemperature(slowdown, locale)
                )
        }
      >
        {hot && (
          <warnIcon.react tag="span" className="jp-Vram-Icon jp-mod-inline" />
        )}
        {hot ? trans.__('%1 hot', temperature) : temperature}
      </span>
      {limited ? (
        <span
          className="jp-mod-alert"
          title={trans.__('Slowed down: the card draws all it may')}
        >
          <warnIcon.react tag="span" className="jp-Vram-Icon jp-mod-inline" />
          {trans.__('%1 limit', power)}
        </span>
      ) : (
        <span className="jp-Vram-wide" title={trans.__('Power')}>
          {power}
        </span>
      )}
      {gpu.health === 'sensor-error' && (
        <span
          className="jp-mod-alert"
          title={Object.entries(gpu.unknown)
            .map(([path, reason]) => `${path}: ${reason}`)
            .join('\n')}
        >
          <warnIcon.react tag="span" className="jp-Vram-Icon jp-mod-inline" />
          {trans.__('sensor error')}
        </span>
      )}
    </>
  );
}
