import { gib } from '../../__tests__/mockup';
import {
  addAmounts,
  amountText,
  fellShort,
  gainOf,
  remaining,
  within,
  type IAmount
} from '../amounts';
import { language, trans } from './fakes';

const NBSP = '\u00a0';

const exact: IAmount = { bytes: gib(3.8), is: 'exact' };
const atMost: IAmount = { bytes: gib(3.8), is: 'at-most' };
const unknown: IAmount = { bytes: null, is: 'unknown' };
const nothing: IAmount = { bytes: 0, is: 'exact' };

it.each([
  [[], nothing],
  [[exact], exact],
  [[atMost], atMost],
  [[unknown], unknown],
  [[unknown, exact], { bytes: gib(3.8), is: 'at-least' }],
  [[unknown, atMost], { bytes: gib(3.8), is: 'about' }],
  [[unknown, nothing], unknown]
])('adds up %#', (amounts, sum) => {
  expect(addAmounts(amounts)).toEqual(sum);
});

it('adds up amounts that are bounds themselves', () => {
  const one = (is: IAmount['is']) => ({ bytes: 1, is });
  expect(addAmounts([one('exact'), one('exact')])).toEqual({
    bytes: 2,
    is: 'exact'
  });
  expect(addAmounts([one('exact'), one('at-least')]).is).toBe('at-least');
  expect(addAmounts([one('at-most'), one('at-least')]).is).toBe('about');
  expect(addAmounts([one('about'), one('exact')]).is).toBe('about');
});

it('takes at most nothing for nothing', () => {
  expect(gainOf({ gain: 0, gain_is: 'at-most' })).toEqual(nothing);
  expect(gainOf({ gain: null, gain_is: 'unknown' })).toEqual(unknown);
});

it('never promises more than is held', () => {
  expect(within(exact, gib(1)).bytes).toBe(gib(1));
  expect(within(exact, null)).toEqual(exact);
});

it('turns a bound round for what stays', () => {
  const held = gib(11.2);
  expect(remaining(held, atMost)).toEqual({
    bytes: held - gib(3.8),
    is: 'at-least'
  });
  expect(remaining(held, { bytes: held, is: 'at-most' }).is).toBe('unknown');
  expect(remaining(null, exact).bytes).toBeNull();
});

it('writes figures as JupyterLab’s language does', () => {
  expect(amountText({ trans, locale: 'de' }, atMost)).toBe(
    `up to 3,8${NBSP}GiB`
  );
});

it('writes bounds as bounds and unknown as a dash', () => {
  const text = (is: IAmount['is']) =>
    amountText(language, { bytes: is === 'unknown' ? null : gib(3.8), is });
  expect(text('exact')).toBe(`3.8${NBSP}GiB`);
  expect(text('at-most')).toBe(`up to 3.8${NBSP}GiB`);
  expect(text('at-least')).toBe(`at least 3.8${NBSP}GiB`);
  expect(text('about')).toBe(`about 3.8${NBSP}GiB`);
  expect(text('unknown')).toBe('—');
});

it('falls short only where a person can see it', () => {
  const expected: IAmount = { bytes: gib(5.9), is: 'exact' };
  expect(fellShort(gib(3.8), expected)).toBe(true);
  expect(fellShort(gib(5.9) - 1000, expected)).toBe(false);
  expect(fellShort(null, expected)).toBe(false);
  expect(fellShort(gib(3.8), unknown)).toBe(false);
});

it('gives an upper bound some leeway', () => {
  const expected: IAmount = { bytes: gib(5), is: 'at-most' };
  expect(fellShort(gib(4.6), expected)).toBe(false);
  expect(fellShort(gib(4.4), expected)).toBe(true);
});
