/** How much fits on a line. */
export type Density = 'auto' | 'normal' | 'compact';

/** The ranges of the history chart, in seconds. */
export const SPANS = [600, 3600, 21600] as const;
export type Span = (typeof SPANS)[number];

/** The panel's parts that fold. */
export type Section = 'kernels' | 'without' | 'leftovers' | 'others';

/** What a person has opened, folded and filtered; survives moving the panel to the other side. */
export interface IView {
  /** Open histories: the GPU's uuid to the range. */
  readonly history: ReadonlyMap<string, Span>;
  /** Expanded kernels. */
  readonly expanded: ReadonlySet<string>;
  /** Kernels that the next "Free…" is for. */
  readonly selected: ReadonlySet<string>;
  readonly folded: ReadonlySet<Section>;
  /** Until when a kernel's hint stays away, in seconds of the server's clock. */
  readonly dismissed: ReadonlyMap<string, number>;
  /** The filter line is open. */
  readonly filtering: boolean;
  /** Only kernels on this GPU. */
  readonly gpu: string | null;
  readonly name: string;
  readonly longIdleOnly: boolean;
}

export const INITIAL_VIEW: IView = {
  history: new Map(),
  expanded: new Set(),
  selected: new Set(),
  folded: new Set<Section>(['without']),
  dismissed: new Map(),
  filtering: false,
  gpu: null,
  name: '',
  longIdleOnly: false
};

/** The set with a value added, or taken out where it was in. */
export function toggled<T>(set: ReadonlySet<T>, value: T): ReadonlySet<T> {
  const copy = new Set(set);
  if (!copy.delete(value)) {
    copy.add(value);
  }
  return copy;
}

/** The map with a value set, or taken out with undefined. */
export function changed<K, V>(
  map: ReadonlyMap<K, V>,
  key: K,
  value: V | undefined
): ReadonlyMap<K, V> {
  const copy = new Map(map);
  if (value === undefined) {
    copy.delete(key);
  } else {
    copy.set(key, value);
  }
  return copy;
}

/** Whether lists are drawn narrow: many GPUs or many kernels, unless the setting says otherwise. */
export function isCompact(
  density: Density,
  gpus: number,
  kernels: number
): boolean {
  return density === 'auto'
    ? gpus >= 5 || kernels >= 13
    : density === 'compact';
}
