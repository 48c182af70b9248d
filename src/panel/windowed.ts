import React from 'react';
import { visibleRange, WINDOW_FROM } from './treegrid';

/** The element that scrolls, for lists inside it. */
export const SCROLL_CLASS = 'jp-Vram-Scroll';

/**
 * Which rows of a list are near the visible part.
 *
 * @param list - The list's element.
 * @param heights - Each row's height in pixels.
 * @returns First row, and the one after the last.
 */
export function useVisibleRange(
  list: React.RefObject<HTMLElement>,
  heights: readonly number[]
): [number, number] {
  const long = heights.length > WINDOW_FROM;
  const latest = React.useRef(heights);
  latest.current = heights;
  const [range, setRange] = React.useState<[number, number]>([0, 0]);

  const measure = React.useCallback(() => {
    const scroller = list.current?.closest(`.${SCROLL_CLASS}`);
    if (!list.current || !scroller) {
      return;
    }
    const view = scroller.getBoundingClientRect();
    const top = view.top - list.current.getBoundingClientRect().top;
    const next = visibleRange(latest.current, top, view.height);
    setRange(range =>
      range[0] === next[0] && range[1] === next[1] ? range : next
    );
  }, [list]);

  React.useLayoutEffect(() => {
    const scroller = list.current?.closest(`.${SCROLL_CLASS}`);
    if (!long || !scroller) {
      return;
    }
    measure();
    const resized = new ResizeObserver(measure);
    resized.observe(scroller);
    scroller.addEventListener('scroll', measure, { passive: true });
    return () => {
      resized.disconnect();
      scroller.removeEventListener('scroll', measure);
    };
  }, [list, long, measure]);

  return long ? range : [0, heights.length];
}
