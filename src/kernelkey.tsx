import React from 'react';
import type { IKernelKey } from './tokens';

/**
 * The class that sets a kernel's hue: `jp-Vram-k0` to `jp-Vram-k7` (style/palette.css). It defines
 * `--vram-hue`, `--vram-ink` (a letter on the hue) and `--vram-texture`.
 */
export function hueClass(key: IKernelKey): string {
  return `jp-Vram-k${key.index % 8}`;
}

/**
 * The class that draws a kernel's texture: `jp-Vram-t0` (plain) to `jp-Vram-t3`
 * (style/palette.css). Moved by one after every eight kernels, so that no two of the first 32 look
 * the same.
 */
export function textureClass(key: IKernelKey): string {
  return `jp-Vram-t${(key.index + Math.floor(key.index / 8)) % 4}`;
}

/** All classes of a kernel's letter chip. */
export function kernelKeyClass(key: IKernelKey, parked = false): string {
  const classes = ['jp-Vram-Key', hueClass(key), textureClass(key)];
  if (key.letter.length > 1) {
    classes.push('jp-mod-long');
  }
  if (parked) {
    classes.push('jp-mod-parked');
  }
  return classes.join(' ');
}

/** A kernel's letter chip for views without React. */
export function createKernelKey(key: IKernelKey, parked = false): HTMLElement {
  const chip = document.createElement('span');
  chip.className = kernelKeyClass(key, parked);
  chip.textContent = key.letter;
  chip.setAttribute('aria-hidden', 'true');
  return chip;
}

/** A kernel's letter chip; hidden from assistive technology, which reads the kernel's name. */
export function KernelKey(props: {
  kernelKey: IKernelKey;
  /** Its GPU data is in host RAM: drawn as a dashed outline. */
  parked?: boolean;
}): JSX.Element {
  return (
    <span
      className={kernelKeyClass(props.kernelKey, props.parked)}
      aria-hidden="true"
    >
      {props.kernelKey.letter}
    </span>
  );
}
