import React from 'react';
import { hueClass } from '../kernelkey';
import type { IKernelKey } from '../tokens';

const WIDTH = 54;
const HEIGHT = 14;
const TOP = 2;
const BOTTOM = 13;

/**
 * SVG path of a kernel's last ten minutes, from zero to the largest value; empty without figures.
 */
export function sparklinePath(values: readonly (number | null)[]): string {
  const most = Math.max(0, ...values.map(value => value ?? 0));
  if (values.length < 2 || most === 0) {
    return '';
  }
  let pen = 'M';
  let path = '';
  values.forEach((value, i) => {
    if (value === null) {
      pen = 'M';
      return;
    }
    const x = (i * WIDTH) / (values.length - 1);
    const y = BOTTOM - (value / most) * (BOTTOM - TOP);
    path += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = 'L';
  });
  return path;
}

/** A kernel's memory over the last ten minutes; the row says the figure itself. */
export function Sparkline(props: {
  path: string;
  kernelKey: IKernelKey | null;
}): JSX.Element {
  return (
    <svg
      className={`jp-Vram-Spark ${props.kernelKey ? hueClass(props.kernelKey) : ''}`}
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      aria-hidden="true"
    >
      <path d={props.path} />
    </svg>
  );
}
