import { holderAlso } from '../holders';
import { languageOf } from '../language';
import { holder } from './plans';

it('names who else leads to the same memory', () => {
  const language = languageOf(null);
  expect(holderAlso(language, holder('model', 1))).toBeNull();
  expect(
    holderAlso(language, holder('model', 1, { also: ['trainer', 'Out[5]'] }))
  ).toBe('also in trainer and Out[5]');
});
