/** What a key does in the kernel list. */
export type GridMove =
  | { readonly kind: 'focus'; readonly row: number }
  | { readonly kind: 'toggle' }
  | { readonly kind: 'select' }
  | { readonly kind: 'first-action' }
  | { readonly kind: 'action'; readonly step: 1 | -1 }
  | { readonly kind: 'row' }
  | { readonly kind: 'plan' }
  | { readonly kind: 'menu' };

/** Where the focus is when a key goes down. */
export interface IGridPlace {
  /** Position of the row among all rows. */
  readonly row: number;
  readonly count: number;
  readonly expanded: boolean;
  /** The focus is on a button inside the row. */
  readonly inside: boolean;
  readonly rightToLeft: boolean;
}

/** The parts of a keyboard event that matter. */
export interface IGridKey {
  readonly key: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly metaKey: boolean;
}

/**
 * The tree grid's keys; null where the key is not the list's.
 *
 * @param names - The rows' names, to find one by its first letter.
 */
export function gridMove(
  event: IGridKey,
  place: IGridPlace,
  names: readonly string[]
): GridMove | null {
  const { row, count, expanded, inside } = place;
  if (event.key === 'ContextMenu' || (event.key === 'F10' && event.shiftKey)) {
    return { kind: 'menu' };
  }
  if (event.ctrlKey || event.altKey || event.metaKey) {
    return null;
  }
  const forward = place.rightToLeft ? 'ArrowLeft' : 'ArrowRight';
  const back = place.rightToLeft ? 'ArrowRight' : 'ArrowLeft';
  switch (event.key) {
    case 'ArrowDown':
      return { kind: 'focus', row: Math.min(count - 1, row + 1) };
    case 'ArrowUp':
      return { kind: 'focus', row: Math.max(0, row - 1) };
    case 'Home':
      return { kind: 'focus', row: 0 };
    case 'End':
      return { kind: 'focus', row: count - 1 };
    case forward:
      if (inside) {
        return { kind: 'action', step: 1 };
      }
      return expanded ? { kind: 'first-action' } : { kind: 'toggle' };
    case back:
      if (inside) {
        return { kind: 'action', step: -1 };
      }
      return expanded ? { kind: 'toggle' } : null;
    case 'Escape':
      return inside ? { kind: 'row' } : null;
    case 'Enter':
      // On a button, Enter is the button's.
      return inside ? null : { kind: 'toggle' };
  }
  // On a button, they are the button's.
  if (inside || event.key.length !== 1) {
    return null;
  }
  if (event.key === ' ') {
    return { kind: 'select' };
  }
  if (event.key.toLowerCase() === 'f') {
    return { kind: 'plan' };
  }
  return byLetter(event.key, row, names);
}

/** The next row whose name begins with a letter, after the current one, round the end. */
function byLetter(
  letter: string,
  row: number,
  names: readonly string[]
): GridMove | null {
  const wanted = letter.toLocaleLowerCase();
  for (let step = 1; step <= names.length; step++) {
    const candidate = (row + step) % names.length;
    if (names[candidate].toLocaleLowerCase().startsWith(wanted)) {
      return { kind: 'focus', row: candidate };
    }
  }
  return null;
}

/** Lists longer than this draw only the rows near the visible part. */
export const WINDOW_FROM = 50;

/** Rows drawn above and below the visible part. */
const OVERSCAN = 10;

/**
 * Which rows of a long list to draw.
 *
 * @param heights - Each row's height in pixels, its open detail included.
 * @param top - Where the visible part begins, in pixels from the list's top.
 * @param height - The visible part's height in pixels.
 * @returns First row, and the one after the last.
 */
export function visibleRange(
  heights: readonly number[],
  top: number,
  height: number
): [number, number] {
  if (heights.length <= WINDOW_FROM) {
    return [0, heights.length];
  }
  let y = 0;
  let first = 0;
  while (first < heights.length - 1 && y + heights[first] <= top) {
    y += heights[first++];
  }
  let end = first;
  while (end < heights.length && y < top + height) {
    y += heights[end++];
  }
  return [
    Math.max(0, first - OVERSCAN),
    Math.min(heights.length, end + OVERSCAN)
  ];
}
