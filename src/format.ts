import type { TranslationBundle } from '@jupyterlab/translation';

const GIB = 2 ** 30;

/** No-break space, so that a number never parts from its unit. */
const NBSP = '\u00a0';

/** What stands for a value nobody knows. */
export const UNKNOWN = '—';

export interface IFormatBytesOptions {
  /** The figure is the framework's, not the driver's: marked `≈`. */
  approximate?: boolean;
  /** Leave the unit out. */
  bare?: boolean;
  /** BCP 47 tag, default the browser's. */
  locale?: string;
}

/**
 * Bytes as GiB with one decimal.
 *
 * #### Notes
 * `0.0` only for a measured zero; anything smaller than 0.05 GiB is `< 0.1 GiB`.
 */
export function formatBytes(
  bytes: number | null | undefined,
  options: IFormatBytesOptions = {}
): string {
  if (bytes === null || bytes === undefined) {
    return UNKNOWN;
  }
  const tenth = decimal(options.locale);
  const small = bytes > 0 && bytes / GIB < 0.05;
  const value = small
    ? `<${NBSP}${tenth.format(0.1)}`
    : tenth.format(bytes / GIB);
  const text = options.bare ? value : `${value}${NBSP}GiB`;
  return options.approximate ? `≈${NBSP}${text}` : text;
}

/** A share as a whole percentage: `0.974` is `97 %`. */
export function formatShare(
  share: number | null | undefined,
  locale?: string
): string {
  return share === null || share === undefined
    ? UNKNOWN
    : `${whole(share * 100, locale)}${NBSP}%`;
}

export function formatTemperature(
  celsius: number | null | undefined,
  locale?: string
): string {
  return celsius === null || celsius === undefined
    ? UNKNOWN
    : `${whole(celsius, locale)}${NBSP}°C`;
}

export function formatPower(
  watts: number | null | undefined,
  locale?: string
): string {
  return watts === null || watts === undefined
    ? UNKNOWN
    : `${whole(watts, locale)}${NBSP}W`;
}

/** A duration as one unit: `just now`, `12 min`, `2 h`, `3 d`. */
export function formatAge(trans: TranslationBundle, seconds: number): string {
  if (seconds < 60) {
    return trans.__('just now');
  }
  if (seconds < 3600) {
    return trans.__('%1 min', Math.floor(seconds / 60));
  }
  if (seconds < 86400) {
    return trans.__('%1 h', Math.floor(seconds / 3600));
  }
  return trans.__('%1 d', Math.floor(seconds / 86400));
}

/** Local wall time, `14:08:55`. */
export function formatTime(seconds: number, locale?: string): string {
  return new Date(seconds * 1000).toLocaleTimeString(locale, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23'
  });
}

function whole(value: number, locale?: string): string {
  return new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }).format(
    value
  );
}

function decimal(locale?: string): Intl.NumberFormat {
  return new Intl.NumberFormat(locale, {
    minimumFractionDigits: 1,
    maximumFractionDigits: 1
  });
}
