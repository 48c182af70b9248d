import React from 'react';
import { formatBytes } from '../format';
import { hueClass, textureClass } from '../kernelkey';
import type { Gpu, Snapshot } from '../service/wire';
import { usePanel } from './context';
import { barSentence, gpuSegments } from './segments';
import type { ISegment } from './segments';

export interface IBarProps {
  snapshot: Snapshot;
  gpu: Gpu;
  names: ReadonlyMap<string, string>;
  /** Called with the kernel whose segment was clicked. */
  onKernel?: (kernelId: string) => void;
  /** The bar is part of a button that says the sentence itself. */
  decorative?: boolean;
}

/** From so many segments, gaps and least widths would push the free part out of the bar. */
const CROWD = 24;

/** A GPU's memory by who has it: kernels by size, leftovers, others, free. */
export function Bar(props: IBarProps): JSX.Element {
  const { snapshot, gpu, names, onKernel, decorative } = props;
  const { trans, locale } = usePanel();
  const segments = gpuSegments(snapshot, gpu);
  return (
    <div
      className={`jp-Vram-Bar${segments.length > CROWD ? ' jp-mod-crowded' : ''}`}
      {...(decorative
        ? { 'aria-hidden': true }
        : {
            role: 'img',
            'aria-label': barSentence(trans, snapshot, gpu, names, locale)
          })}
    >
      {segments.map(segment => (
        <Segment
          key={segment.kernelId ?? segment.kind}
          segment={segment}
          name={segment.kernelId && names.get(segment.kernelId)!}
          onKernel={onKernel}
        />
      ))}
      <span className="jp-Vram-Free" />
    </div>
  );
}

function Segment(props: {
  segment: ISegment;
  name: string | null;
  onKernel?: (kernelId: string) => void;
}): JSX.Element {
  const { kind, kernelId, bytes, share } = props.segment;
  const { model, trans, locale } = usePanel();
  const style = { width: `${(share * 100).toFixed(2)}%` };
  const size = formatBytes(bytes, { locale });
  if (kernelId === null) {
    return (
      <span
        className={`jp-Vram-Seg jp-Vram-${kind}`}
        style={style}
        title={
          kind === 'leftover'
            ? trans.__('Leftover processes: %1', size)
            : trans.__('Other processes: %1', size)
        }
      />
    );
  }
  const key = model.keyOf(kernelId);
  // A mouse shortcut only: the keyboard reaches the row itself.
  return (
    <span
      className={`jp-Vram-Seg jp-mod-kernel ${key ? `${hueClass(key)} ${textureClass(key)}` : ''}`}
      style={style}
      title={trans.__('%1: %2', props.name, size)}
      onClick={() => props.onKernel?.(kernelId)}
    >
      {key && <i>{key.letter}</i>}
    </span>
  );
}
