import React from 'react';
import { formatBytes } from '../format';
import { frameworkName } from '../frameworks';
import { hueClass } from '../kernelkey';
import type { FrameworkUse, Holder, Kernel } from '../service/wire';
import { CommandIDs } from '../tokens';
import { usePanel } from './context';
import { LargestHolders } from './largestholders';
import { shortAge } from './states';

export interface IKernelDetailProps {
  kernel: Kernel;
  /** The kernel's processes on the GPUs. */
  holders: readonly Holder[];
  takenAt: number;
  disabled: boolean;
}

/** What an open row shows: the kernel's memory by use, and its processes. */
export function KernelDetail(props: IKernelDetailProps): JSX.Element {
  const { kernel, holders, takenAt, disabled } = props;
  const { model, trans, locale } = usePanel();
  const key = model.keyOf(kernel.id);
  const children = holders.filter(({ role }) => role !== 'main');
  const frameworks = Object.entries(kernel.frameworks);
  const plan = model.lastPlan(kernel.id);
  return (
    <div className={`jp-Vram-Detail ${key ? hueClass(key) : ''}`}>
      {frameworks.map(([name, use]) => (
        <FrameworkLines
          key={name}
          kernelId={kernel.id}
          name={name}
          use={use}
          disabled={disabled}
        />
      ))}
      {frameworks.length === 0 ? (
        <p>
          {trans.__(
            'What the memory is used for has not been asked yet. “Free…” asks, and changes nothing by itself.'
          )}
        </p>
      ) : (
        kernel.asked_at !== null && (
          <p className="jp-Vram-muted">
            {trans.__(
              'measured %1 ago',
              shortAge(trans, takenAt - kernel.asked_at)
            )}
          </p>
        )
      )}
      {plan && <LargestHolders plan={plan} takenAt={takenAt} />}
      {children.length > 0 && (
        <>
          <h4>{trans.__('Child processes')}</h4>
          {children.map(({ gpu, pid, name, bytes }) => (
            <div className="jp-Vram-Line" key={`${gpu} ${pid}`}>
              <span className="jp-Vram-ellipsis" title={name ?? ''}>
                {name ?? trans.__('Unnamed process')}
              </span>
              <span className="jp-Vram-number jp-Vram-end">
                {formatBytes(bytes, { locale })}
              </span>
            </div>
          ))}
        </>
      )}
    </div>
  );
}

function FrameworkLines(props: {
  kernelId: string;
  name: string;
  use: FrameworkUse;
  disabled: boolean;
}): JSX.Element {
  const { kernelId, use, disabled } = props;
  const { trans, commands, execute } = usePanel();
  const name = frameworkName(trans, props.name);
  const parts = [
    { part: 'live', bytes: use.live },
    { part: 'cached', bytes: use.cached },
    { part: 'context', bytes: use.context }
  ];
  return (
    <>
      <div className="jp-Vram-Split" aria-hidden="true">
        {parts.map(
          ({ part, bytes }) =>
            bytes !== null &&
            bytes > 0 && (
              <span
                key={part}
                className={`jp-Vram-${part}`}
                style={{ flexGrow: bytes }}
              />
            )
        )}
      </div>
      <Line part="live" bytes={use.live}>
        {trans.__('In use by %1', name)}
      </Line>
      <Line part="cached" bytes={use.cached}>
        {trans.__('Cached by %1', name)}
        {!!use.cached && commands.hasCommand(CommandIDs.releaseCache) && (
          <button
            className="jp-Vram-Link"
            disabled={disabled}
            tabIndex={-1}
            title={trans.__('Give cached blocks back now; nothing is lost')}
            onClick={() => execute(CommandIDs.releaseCache, { kernelId })}
          >
            {trans.__('Release')}
          </button>
        )}
      </Line>
      <Line part="context" bytes={use.context}>
        {trans.__('Driver context')}
        <span className="jp-Vram-muted jp-Vram-wide">
          {trans.__('· until restart')}
        </span>
      </Line>
    </>
  );
}

function Line(props: {
  part: string;
  bytes: number | null;
  children: React.ReactNode;
}): JSX.Element {
  const { locale } = usePanel();
  return (
    <div className="jp-Vram-Line">
      <span className={`jp-Vram-Swatch jp-Vram-${props.part}`} />
      {props.children}
      <b className="jp-Vram-number jp-Vram-end">
        {formatBytes(props.bytes, { locale })}
      </b>
    </div>
  );
}
