import type { IKernelRow } from './rows';
import type { Kernel } from '../service/wire';
import { sumOfKnown } from '../sums';

export const COLUMNS = [
  'name',
  'status',
  'gpu',
  'bytes',
  'live',
  'cached'
] as const;
export type Column = (typeof COLUMNS)[number];

/** The order of the wide table. */
export interface IOrder {
  readonly column: Column;
  readonly descending: boolean;
}

/** A line of the wide table. */
export interface ITableRow extends IKernelRow {
  /** What frameworks have in use, and keep for reuse; null = not measured. */
  readonly live: number | null;
  readonly cached: number | null;
}

/** The kernels with their frameworks' figures, in order; what is unknown comes last. */
export function tableRows(
  rows: readonly IKernelRow[],
  kernels: readonly Kernel[],
  { column, descending }: IOrder,
  locale?: string
): ITableRow[] {
  const byId = new Map(kernels.map(kernel => [kernel.id, kernel]));
  const table = rows.map(row => {
    const uses = Object.values(byId.get(row.id)!.frameworks);
    return {
      ...row,
      live: measured(uses.map(({ live }) => live)),
      cached: measured(uses.map(({ cached }) => cached))
    };
  });
  const collator = new Intl.Collator(locale, { numeric: true });
  const value = (row: ITableRow): string | number | null => {
    switch (column) {
      case 'name':
        return row.name;
      case 'gpu':
        return row.gpus;
      case 'status':
        // Busy first, then by how long it has been idle.
        return row.state === 'busy' ? -1 : row.idle;
      default:
        return row[column];
    }
  };
  const sign = descending ? -1 : 1;
  return table.sort((a, b) => {
    const [left, right] = [value(a), value(b)];
    if (left === null || right === null) {
      return (left === null ? 1 : 0) - (right === null ? 1 : 0);
    }
    return (
      sign *
      (typeof left === 'number'
        ? left - (right as number)
        : collator.compare(left, right as string))
    );
  });
}

/** The sum of a kernel's frameworks; null where none was measured. */
function measured(values: readonly (number | null)[]): number | null {
  return values.length === 0 ? null : sumOfKnown(values);
}
