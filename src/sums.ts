/** The sum of what is known; null where nothing is, 0 of an empty list. */
export function sumOfKnown(values: readonly (number | null)[]): number | null {
  const known = values.filter(value => value !== null);
  return values.length > 0 && known.length === 0
    ? null
    : known.reduce<number>((total, value) => total + value!, 0);
}

/** The sum; null as soon as one part is not known, 0 of an empty list. */
export function sumOfAll(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (total, value) => (total === null || value === null ? null : total + value),
    0
  );
}
