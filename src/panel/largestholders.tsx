import React from 'react';
import { formatBytes } from '../format';
import { holderKind, holderPlace } from '../holders';
import type { Plan } from '../service/wire';
import { usePanel } from './context';
import { shortAge } from './states';

/** So many are shown; the plan has all. */
const SHOWN = 5;

/** What holds a kernel's memory, as its last plan found it; nothing where it found nothing. */
export function LargestHolders(props: {
  plan: Plan;
  takenAt: number;
}): JSX.Element | null {
  const { plan, takenAt } = props;
  const language = usePanel();
  const { trans, locale } = language;
  const holders = plan.holders_in_kernel.slice(0, SHOWN);
  if (holders.length === 0) {
    return null;
  }
  return (
    <>
      <div className="jp-Vram-Line">
        <h4>{trans.__('Largest holders')}</h4>
        {plan.measured_at !== null && (
          <span className="jp-Vram-muted jp-Vram-end">
            {trans.__(
              'measured %1 ago',
              shortAge(trans, takenAt - plan.measured_at)
            )}
          </span>
        )}
      </div>
      {holders.map((holder, i) => (
        <div className="jp-Vram-Holder" key={i}>
          <code className="jp-Vram-ellipsis" title={holder.label}>
            {holder.label}
          </code>
          <span className="jp-Vram-number">
            {formatBytes(holder.bytes, { locale })}
          </span>
          <span className="jp-Vram-muted jp-Vram-ellipsis">
            {[holderKind(language, holder), holderPlace(trans, holder.where)]
              .filter(part => part)
              .join(' · ')}
          </span>
        </div>
      ))}
    </>
  );
}
