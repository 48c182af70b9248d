import { gridMove, visibleRange } from '../treegrid';
import type { GridMove, IGridPlace } from '../treegrid';

const names = ['train', 'embeddings', 'eval', 'sandbox'];

function move(
  key: string,
  place: Partial<IGridPlace> = {},
  modifiers: { shiftKey?: boolean; ctrlKey?: boolean } = {}
): GridMove | null {
  return gridMove(
    {
      key,
      shiftKey: false,
      ctrlKey: false,
      altKey: false,
      metaKey: false,
      ...modifiers
    },
    {
      row: 1,
      count: names.length,
      expanded: false,
      inside: false,
      rightToLeft: false,
      ...place
    },
    names
  );
}

describe('gridMove', () => {
  it('moves up and down and stops at the ends', () => {
    expect(move('ArrowDown')).toEqual({ kind: 'focus', row: 2 });
    expect(move('ArrowUp')).toEqual({ kind: 'focus', row: 0 });
    expect(move('ArrowUp', { row: 0 })).toEqual({ kind: 'focus', row: 0 });
    expect(move('ArrowDown', { row: 3 })).toEqual({ kind: 'focus', row: 3 });
    expect(move('Home')).toEqual({ kind: 'focus', row: 0 });
    expect(move('End')).toEqual({ kind: 'focus', row: 3 });
  });

  it('selects with Space, which is the button’s on a button', () => {
    expect(move(' ')).toEqual({ kind: 'select' });
    expect(move(' ', { inside: true })).toBeNull();
  });

  it('goes forward: expand, then the first action, then the next', () => {
    expect(move('ArrowRight')).toEqual({ kind: 'toggle' });
    expect(move('ArrowRight', { expanded: true })).toEqual({
      kind: 'first-action'
    });
    expect(move('ArrowRight', { inside: true })).toEqual({
      kind: 'action',
      step: 1
    });
  });

  it('goes back: the action before, then collapse', () => {
    expect(move('ArrowLeft', { inside: true })).toEqual({
      kind: 'action',
      step: -1
    });
    expect(move('ArrowLeft', { expanded: true })).toEqual({ kind: 'toggle' });
    expect(move('ArrowLeft')).toBeNull();
  });

  it('mirrors forward and back where text runs from right to left', () => {
    expect(move('ArrowLeft', { rightToLeft: true })).toEqual({
      kind: 'toggle'
    });
    expect(move('ArrowRight', { rightToLeft: true })).toBeNull();
  });

  it('leaves Enter on a button to the button', () => {
    expect(move('Enter')).toEqual({ kind: 'toggle' });
    expect(move('Enter', { inside: true })).toBeNull();
    expect(move('Escape', { inside: true })).toEqual({ kind: 'row' });
    expect(move('Escape')).toBeNull();
  });

  it('opens the plan and the menu', () => {
    expect(move('f')).toEqual({ kind: 'plan' });
    expect(move('ContextMenu')).toEqual({ kind: 'menu' });
    expect(move('F10', {}, { shiftKey: true })).toEqual({ kind: 'menu' });
    expect(move('F10')).toBeNull();
    expect(move('f', {}, { ctrlKey: true })).toBeNull();
  });

  it('finds by first letter, round the end', () => {
    expect(move('e')).toEqual({ kind: 'focus', row: 2 });
    expect(move('E', { row: 2 })).toEqual({ kind: 'focus', row: 1 });
    expect(move('x')).toBeNull();
  });
});

describe('visibleRange', () => {
  const heights = (count: number): number[] => Array(count).fill(20);

  it('draws a short list whole', () => {
    expect(visibleRange(heights(50), 0, 100)).toEqual([0, 50]);
  });

  it('draws only what is near the visible part of a long one', () => {
    expect(visibleRange(heights(500), 0, 100)).toEqual([0, 15]);
    expect(visibleRange(heights(500), 2000, 100)).toEqual([90, 115]);
    expect(visibleRange(heights(500), 9900, 100)).toEqual([485, 500]);
  });

  it('counts an open row with its detail', () => {
    const open = heights(500);
    open[0] = 2000;
    expect(visibleRange(open, 2000, 100)).toEqual([0, 16]);
  });
});
