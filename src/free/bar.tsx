import React from 'react';
import { hueClass } from '../kernelkey';
import type { IKernelKey } from '../tokens';

export interface IBarProps {
  /** What the kernel held, the whole width; the bar is empty where it is null or 0. */
  held: number | null;
  /** What is or will be returned. */
  gone: number | null;
  /** What the framework keeps to reuse it, part of what stays. */
  cached: number | null;
  /** The driver's own share of the process, part of what stays. */
  context: number | null;
  kernelKey: IKernelKey | null;
  /** The whole bar as a sentence. */
  label: string;
}

/**
 * A kernel's memory: what goes (thin lines), what stays in use (solid), what stays cached
 * (stripes), the driver context (outline).
 */
export function Bar(props: IBarProps): JSX.Element {
  const held = props.held ?? 0;
  const gone = Math.min(props.gone ?? 0, held);
  const context = Math.min(props.context ?? 0, held - gone);
  const cached = Math.min(props.cached ?? 0, held - gone - context);
  const live = held - gone - context - cached;
  const hue = props.kernelKey ? hueClass(props.kernelKey) : '';
  return (
    <div
      className={`jp-Vram-FreeBar ${hue}`}
      role="img"
      aria-label={props.label}
    >
      {(
        [
          ['gone', gone],
          ['live', live],
          ['cached', cached],
          ['context', context]
        ] as const
      ).map(([part, bytes]) =>
        bytes > 0 ? (
          <span
            key={part}
            className={`jp-Vram-FreeBar-part jp-mod-${part}`}
            style={{ flexGrow: bytes }}
          />
        ) : null
      )}
    </div>
  );
}
