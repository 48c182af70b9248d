import {
  nullTranslator,
  type ITranslator,
  type TranslationBundle
} from '@jupyterlab/translation';

/** What words and figures are written in. */
export interface ILanguage {
  /** This extension's strings. */
  readonly trans: TranslationBundle;
  /** BCP 47 tag of JupyterLab's language; undefined = the browser's. */
  readonly locale?: string;
}

/** JupyterLab's language; English where the front end has no translations. */
export function languageOf(translator: ITranslator | null): ILanguage {
  const { languageCode } = translator ?? nullTranslator;
  return {
    trans: (translator ?? nullTranslator).load('jupyterlab_vram'),
    locale: bcp47(languageCode)
  };
}

/** JupyterLab writes `zh_CN`; a name that no browser takes must not stop a view. */
function bcp47(languageCode: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(languageCode.replaceAll('_', '-'))[0];
  } catch {
    return undefined;
  }
}
