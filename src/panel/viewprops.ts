import type { Gpu, Snapshot, Thresholds } from '../service/wire';
import type { IKernelRows } from './rows';
import type { IView } from './view';

/** Changes some of what a person has opened, folded and filtered. */
export type ViewSetter = (
  change: Partial<IView> | ((view: IView) => Partial<IView>)
) => void;

/** A reading, made ready for the panel's two layouts. */
export interface IViewProps {
  snapshot: Snapshot;
  gpus: readonly Gpu[];
  thresholds: Thresholds;
  names: ReadonlyMap<string, string>;
  rows: IKernelRows;
  /** The figures are old; nothing can be done. */
  stale: boolean;
  view: IView;
  onView: ViewSetter;
}
