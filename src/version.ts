import { version } from '../package.json';

/**
 * This browser's half of the version handshake, spelt as the server spells it: Python writes
 * npm's `1.2.0-beta.1` as `1.2.0b1`.
 */
export const VERSION = version.replace(/-(a|b|rc)[a-z]*\.?/, '$1');
