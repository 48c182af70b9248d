import { HTMLSelect } from '@jupyterlab/ui-components';
import React from 'react';
import { formatBytes } from '../format';
import { holderAlso, holderKind } from '../holders';
import type { ILanguage } from '../language';
import type { Plan } from '../service/wire';
import { Checklist } from './checklist';
import {
  childrenOf,
  toggled,
  variablesOf,
  type ISelection,
  type IVariable,
  type RemedyId
} from './selection';
import type { IPlace } from './places';

/** What the parts of a plan that can be changed work with. */
export interface IPlanProps {
  plan: Plan;
  selection: ISelection;
  /** Where a restart can restart; empty where that is not known. */
  places: readonly IPlace[];
  /** The notebook is open here, so that its cells can be run again. */
  canRunAgain: boolean;
  onTick: (id: RemedyId) => void;
  onSelect: (change: Partial<ISelection>) => void;
  language: ILanguage;
}

/** What can be chosen inside a step; null where there is nothing. */
export function StepOptions(
  props: IPlanProps & { id: RemedyId; ticked: boolean }
): JSX.Element | null {
  switch (props.id) {
    case 'delete':
      return (
        <Disclosed {...props} open={props.selection.names.size > 0}>
          <Variables {...props} />
        </Disclosed>
      );
    case 'end-children':
      return <Children {...props} />;
    case 'unpin-outputs':
      return props.ticked ? <EveryOutput {...props} /> : null;
    case 'restart':
      return props.ticked ? <Restart {...props} /> : null;
    default:
      return null;
  }
}

/** A list that shows on a click, and by itself as soon as something in it is chosen. */
function Disclosed(
  props: IPlanProps & { open: boolean; children: JSX.Element }
): JSX.Element {
  const [opened, setOpened] = React.useState(false);
  const list = React.useRef<HTMLDivElement>(null);
  React.useEffect(() => {
    if (opened) {
      // The button that had the focus is gone, and the list may be below the edge.
      list.current?.querySelector('input')?.focus();
      list.current?.scrollIntoView({ block: 'nearest' });
    }
  }, [opened]);
  const open = opened || props.open;
  return open ? (
    <div ref={list}>{props.children}</div>
  ) : (
    <button
      className="jp-Vram-FreeLink"
      aria-expanded={false}
      onClick={() => setOpened(true)}
    >
      {props.language.trans.__('Choose…')}
    </button>
  );
}

function Variables(props: IPlanProps): JSX.Element {
  const { plan, selection, onSelect, language } = props;
  const { trans, locale } = language;
  return (
    <Checklist
      id="jp-vram-free-variable"
      label={trans.__('Variables to delete')}
      items={variablesOf(plan).map(variable => ({
        key: variable.name,
        label: variable.name,
        detail: about(language, variable),
        size: formatBytes(variable.gain, { locale }),
        checked: selection.names.has(variable.name),
        onToggle: () =>
          onSelect({ names: toggled(selection.names, variable.name) })
      }))}
    />
  );
}

function about(language: ILanguage, { rows }: IVariable): string {
  if (rows.length > 1) {
    return language.trans._n('%1 object', '%1 objects', rows.length);
  }
  // Deleting one of several names returns nothing: the others are to be seen before.
  const parts = [holderKind(language, rows[0]), holderAlso(language, rows[0])];
  return parts.filter(part => part).join(' · ');
}

function Children(props: IPlanProps): JSX.Element {
  const { plan, selection, onSelect, language } = props;
  const { trans, locale } = language;
  return (
    <Checklist
      id="jp-vram-free-process"
      label={trans.__('Processes to end')}
      items={childrenOf(plan).map(({ pid, name, bytes }) => ({
        key: String(pid),
        label: String(pid),
        detail: name ?? '',
        size: formatBytes(bytes, { locale }),
        checked: selection.pids.has(pid),
        onToggle: () => onSelect({ pids: toggled(selection.pids, pid) })
      }))}
    />
  );
}

function EveryOutput(props: IPlanProps): JSX.Element {
  const { selection, onSelect, language } = props;
  return (
    <Option
      checked={selection.everyOutput}
      onChange={everyOutput => onSelect({ everyOutput })}
    >
      {language.trans.__('Every entry, not only those that hold GPU memory')}
    </Option>
  );
}

function Restart(props: IPlanProps): JSX.Element {
  const { selection, places, canRunAgain, onSelect, language } = props;
  const { trans } = language;
  return (
    <>
      {places.length > 0 && (
        <label className="jp-Vram-FreeOption">
          {trans.__('Restart on')}
          <HTMLSelect
            value={selection.place ?? ''}
            onChange={({ target }) =>
              onSelect({ place: target.value === '' ? null : target.value })
            }
          >
            <option value="">{trans.__('the same GPU')}</option>
            {places.map(({ place, label }) => (
              <option key={place} value={place}>
                {label}
              </option>
            ))}
          </HTMLSelect>
        </label>
      )}
      {canRunAgain && (
        <Option
          checked={selection.runAgain}
          onChange={runAgain => onSelect({ runAgain })}
        >
          {trans.__('Then run the notebook again up to the current cell')}
        </Option>
      )}
    </>
  );
}

function Option(props: {
  checked: boolean;
  onChange: (checked: boolean) => void;
  children: string;
}): JSX.Element {
  return (
    <label className="jp-Vram-FreeOption">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={({ target }) => props.onChange(target.checked)}
      />
      {props.children}
    </label>
  );
}
