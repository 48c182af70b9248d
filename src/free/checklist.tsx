import React from 'react';

/** One thing that can be chosen. */
export interface IChecklistItem {
  readonly key: string;
  readonly label: string;
  /** What it is. */
  readonly detail: string;
  readonly size: string;
  readonly checked: boolean;
  onToggle: () => void;
}

/** Things to choose from, inside a step. */
export function Checklist(props: {
  /** What is chosen here, for assistive technology. */
  label: string;
  /** Makes the ids of its parts unique in the document. */
  id: string;
  items: readonly IChecklistItem[];
}): JSX.Element {
  const { label, id, items } = props;
  return (
    <ul className="jp-Vram-FreeChecklist" aria-label={label}>
      {items.map((item, i) => (
        <li key={item.key}>
          <input
            type="checkbox"
            id={`${id}-${i}`}
            checked={item.checked}
            aria-describedby={`${id}-${i}-about ${id}-${i}-size`}
            onChange={item.onToggle}
          />
          <label htmlFor={`${id}-${i}`} title={item.label}>
            {item.label}
          </label>
          <span
            id={`${id}-${i}-about`}
            className="jp-Vram-FreeChecklist-detail"
            title={item.detail}
          >
            {item.detail}
          </span>
          <span id={`${id}-${i}-size`} className="jp-Vram-FreeLine-value">
            {item.size}
          </span>
        </li>
      ))}
    </ul>
  );
}
