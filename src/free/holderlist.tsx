import React from 'react';
import { formatBytes } from '../format';
import { holderAlso, holderKind, holderPlace } from '../holders';
import type { ILanguage } from '../language';
import type { HolderInKernel, Plan } from '../service/wire';

/** So many stand in the closed line. */
const FIRST = 3;

/** What holds the kernel's memory, largest first: a line that opens. */
export function HolderList(props: {
  plan: Plan;
  language: ILanguage;
}): JSX.Element | null {
  const { plan, language } = props;
  const { trans } = language;
  const { holders_in_kernel: holders, scan } = plan;
  if (holders.length === 0) {
    return null;
  }
  return (
    <details className="jp-Vram-FreeHolders">
      <summary>
        <b>{trans.__('Largest holders')}</b>{' '}
        <span>
          {holders
            .slice(0, FIRST)
            .map(({ label, bytes }) =>
              trans.__('%1 %2', label, formatBytes(bytes, language))
            )
            .join(' · ')}
        </span>
      </summary>
      <ul>
        {holders.map((holder, i) => (
          <Row key={i} holder={holder} language={language} />
        ))}
      </ul>
      {scan !== null && !scan.complete && (
        <p className="jp-Vram-FreeNote">
          {trans.__(
            'Only the first %1 objects of the kernel were looked at: the list may lack something.',
            new Intl.NumberFormat(language.locale).format(scan.objects)
          )}
        </p>
      )}
    </details>
  );
}

function Row(props: {
  holder: HolderInKernel;
  language: ILanguage;
}): JSX.Element {
  const { holder, language } = props;
  const about = [
    holderKind(language, holder),
    holderPlace(language.trans, holder.where),
    holderAlso(language, holder)
  ].filter(part => part);
  return (
    <li className="jp-Vram-FreeLine">
      <span className="jp-Vram-FreeLine-name">
        <code>{holder.label}</code>
        <small>{about.join(' · ')}</small>
      </span>
      <span className="jp-Vram-FreeLine-value">
        {formatBytes(holder.bytes, language)}
      </span>
    </li>
  );
}
