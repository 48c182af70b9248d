import { nullTranslator, type ITranslator } from '@jupyterlab/translation';
import { formatBytes } from '../format';
import { idleText } from '../kernelstate';
import { languageOf } from '../language';

const translator = (languageCode: string): ITranslator => ({
  languageCode,
  load: domain => nullTranslator.load(domain)
});

it('writes a language as browsers do', () => {
  expect(languageOf(translator('zh_Hans_CN')).locale).toBe('zh-Hans-CN');
  expect(languageOf(null).locale).toBe('en');
});

it('falls back to the browser’s language where a name is none', () => {
  const { locale } = languageOf(translator('no language'));
  expect(locale).toBeUndefined();
  expect(formatBytes(2 ** 30, { locale })).toMatch(/^1.0/);
});

it('counts idle time from a minute on', () => {
  const { trans } = languageOf(null);
  expect(idleText(trans, null)).toBe('idle');
  expect(idleText(trans, 59)).toBe('idle');
  expect(idleText(trans, 60)).toBe('idle 1 min');
});
