import { copyIcon } from '@jupyterlab/ui-components';
import React from 'react';
import type { ILanguage } from '../language';
import type { IHint, IPoolAdvice } from './hints';

/** Code to copy before the kernel restarts, and for its next start. */
export function PoolHints(props: {
  advice: readonly IPoolAdvice[];
  onCopy: (code: string) => void;
  language: ILanguage;
}): JSX.Element {
  const { advice, onCopy, language } = props;
  return (
    <>
      {advice
        .flatMap(({ hints }) => hints)
        .map((hint, i) => (
          <Hint key={i} hint={hint} onCopy={onCopy} language={language} />
        ))}
    </>
  );
}

function Hint(props: {
  hint: IHint;
  onCopy: (code: string) => void;
  language: ILanguage;
}): JSX.Element {
  const { hint, onCopy, language } = props;
  const copy = language.trans.__('Copy “%1”', hint.title);
  return (
    <figure className="jp-Vram-FreeHint">
      <figcaption>{hint.title}</figcaption>
      <pre>
        <code>{hint.code}</code>
      </pre>
      <button title={copy} aria-label={copy} onClick={() => onCopy(hint.code)}>
        <copyIcon.react tag="span" aria-hidden="true" />
      </button>
    </figure>
  );
}
