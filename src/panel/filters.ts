import type { IKernelRow } from './rows';
import type { IView } from './view';

/** Whether anything narrows the kernel list. */
export function isFiltered({ gpu, name, longIdleOnly }: IView): boolean {
  return gpu !== null || name !== '' || longIdleOnly;
}

/** The rows that pass the filters: every one that is set must agree. */
export function filterRows(
  rows: readonly IKernelRow[],
  { gpu, name, longIdleOnly }: IView
): IKernelRow[] {
  const wanted = name.toLocaleLowerCase();
  return rows.filter(
    row =>
      (gpu === null || row.uuids.split(' ').includes(gpu)) &&
      row.name.toLocaleLowerCase().includes(wanted) &&
      (!longIdleOnly || row.state === 'long-idle')
  );
}
