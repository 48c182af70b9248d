import { UseSignal } from '@jupyterlab/ui-components';
import React, { useEffect, useRef } from 'react';
import { isApproximate, isSizeHidden } from '../badge/state';
import { formatBytes, UNKNOWN } from '../format';
import { longIdleIcon, unknownIcon } from '../icons';
import { KernelKey } from '../kernelkey';
import type { ILanguage } from '../language';
import type { IVramModel } from '../tokens';

interface IRunningDetailProps extends ILanguage {
  model: IVramModel;
  kernelId: string;
}

/** A kernel's letter and size; follows the model, and watches it while on screen. */
export function RunningDetail(props: IRunningDetailProps): JSX.Element {
  const { model } = props;
  const node = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let watch = null as ReturnType<IVramModel['watch']> | null;
    const observer = new IntersectionObserver(entries => {
      watch?.dispose();
      watch = entries.some(entry => entry.isIntersecting)
        ? model.watch()
        : null;
    });
    observer.observe(node.current!);
    return () => {
      observer.disconnect();
      watch?.dispose();
    };
  }, [model]);
  return (
    <span className="jp-Vram-Running" ref={node}>
      <UseSignal signal={model.changed}>
        {() => <Figure {...props} />}
      </UseSignal>
    </span>
  );
}

function Figure(props: IRunningDetailProps): JSX.Element | null {
  const { model, kernelId, trans, locale } = props;
  const { snapshot, config } = model;
  const kernel = model.kernel(kernelId);
  if (snapshot === null || kernel === null) {
    return null;
  }
  if (isSizeHidden(snapshot, kernel)) {
    return (
      <>
        <unknownIcon.react tag="span" className="jp-Vram-Icon jp-mod-inline" />
        <span title={trans.__('GPU memory: size unknown')}>{UNKNOWN}</span>
      </>
    );
  }
  if (!kernel.bytes) {
    return null;
  }
  const key = model.keyOf(kernelId);
  const isLongIdle =
    config !== null &&
    kernel.state === 'idle' &&
    kernel.last_activity !== null &&
    snapshot.taken_at - kernel.last_activity >= config.thresholds.long_idle;
  const size = formatBytes(kernel.bytes, {
    approximate: isApproximate(snapshot, kernelId),
    locale
  });
  return (
    <>
      {isLongIdle && (
        <longIdleIcon.react
          tag="span"
          className="jp-Vram-Icon jp-mod-inline"
          title={trans.__('Idle for long')}
        />
      )}
      {key && <KernelKey kernelKey={key} />}
      <span
        className={
          model.status === 'live'
            ? 'jp-Vram-Running-size'
            : 'jp-Vram-Running-size jp-mod-stale'
        }
        title={
          snapshot.source === 'simulated'
            ? trans.__('%1 of simulated GPU memory', size)
            : trans.__('%1 of GPU memory', size)
        }
      >
        {size}
      </span>
    </>
  );
}
