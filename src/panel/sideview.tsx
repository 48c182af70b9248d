import { filterIcon, notebookIcon } from '@jupyterlab/ui-components';
import React from 'react';
import { formatBytes } from '../format';
import { usePanel } from './context';
import { FilterLine } from './filterline';
import { filterRows, isFiltered } from './filters';
import { GpuCard } from './gpucard';
import { GpuRows } from './gpurows';
import { gpuLabel } from '../gpus';
import { sumOfKnown } from '../sums';
import { pickHint, DISMISSED_FOR } from './hint';
import { showHelp } from './help';
import { HintLine } from './hintline';
import { KernelGrid } from './kernelgrid';
import { leftovers, others } from './processes';
import { LeftoverList, OtherList } from './processlists';
import { Section } from './section';
import { SelectionLine } from './selectionline';
import { changed, isCompact, toggled } from './view';
import type { Density, Section as SectionName } from './view';
import type { IViewProps } from './viewprops';

/** The cards, the hint and the lists of the side panel. */
export function SideView(
  props: IViewProps & {
    density: Density;
    target: { readonly kernelId: string } | null;
  }
): JSX.Element {
  const { snapshot, gpus, thresholds, names, rows, stale, view, onView } =
    props;
  const { trans, locale } = usePanel();
  const [target, setTarget] = React.useState(props.target);
  React.useEffect(() => setTarget(props.target), [props.target]);
  const compact = isCompact(props.density, gpus.length, rows.holding.length);
  const hint = stale ? null : pickHint(snapshot, thresholds, view.dismissed);
  const toggle = (section: SectionName) => () =>
    onView({ folded: toggled(view.folded, section) });
  const toggleRow = React.useCallback(
    (kernelId: string) =>
      onView(({ expanded }) => ({ expanded: toggled(expanded, kernelId) })),
    [onView]
  );

  const toggleSelected = React.useCallback(
    (kernelId: string) =>
      onView(({ selected }) => ({ selected: toggled(selected, kernelId) })),
    [onView]
  );

  const filtered = compact && isFiltered(view);
  const shown = filtered ? filterRows(rows.holding, view) : rows.holding;
  const total = filtered
    ? sumOfKnown(shown.map(({ bytes }) => bytes))
    : rows.total;
  const selected = gpus.find(({ uuid }) => uuid === view.gpu);
  const gone = leftovers(trans, snapshot);
  const rest = others(trans, snapshot);
  const size = (bytes: number | null, approximate = false): string =>
    formatBytes(bytes, { approximate, locale });
  return (
    <>
      {compact ? (
        <GpuRows
          snapshot={snapshot}
          gpus={gpus}
          thresholds={thresholds}
          names={names}
          selected={view.gpu}
          onSelect={gpu => onView({ gpu, filtering: gpu !== null })}
        />
      ) : (
        gpus.map(gpu => (
          <GpuCard
            key={gpu.uuid}
            snapshot={snapshot}
            gpu={gpu}
            thresholds={thresholds}
            names={names}
            span={view.history.get(gpu.uuid) ?? null}
            onSpan={span =>
              onView({
                history: changed(view.history, gpu.uuid, span ?? undefined)
              })
            }
            onKernel={kernelId => setTarget({ kernelId })}
          />
        ))
      )}
      {hint && (
        <HintLine
          hint={hint}
          snapshot={snapshot}
          name={names.get(hint.kernelId)!}
          disabled={stale}
          onDismiss={() =>
            onView({
              dismissed: changed(
                view.dismissed,
                hint.kernelId,
                snapshot.taken_at + DISMISSED_FOR
              )
            })
          }
        />
      )}
      <Section
        title={
          filtered
            ? trans.__('Kernels · %1 of %2', shown.length, rows.holding.length)
            : compact
              ? trans.__('Kernels · %1', rows.holding.length)
              : trans.__('Kernels')
        }
        figure={size(total, rows.approximate)}
        open={!view.folded.has('kernels')}
        onToggle={toggle('kernels')}
        tools={
          compact && (
            <button
              className="jp-Vram-IconButton"
              aria-pressed={view.filtering || filtered}
              aria-label={trans.__('Filter kernels')}
              title={trans.__('Filter kernels')}
              onClick={() =>
                onView(
                  view.filtering || filtered
                    ? {
                        filtering: false,
                        gpu: null,
                        name: '',
                        longIdleOnly: false
                      }
                    : { filtering: true }
                )
              }
            >
              <filterIcon.react tag="span" className="jp-Vram-Icon" />
            </button>
          )
        }
      >
        {compact && (view.filtering || filtered) && (
          <FilterLine
            view={view}
            gpuLabel={selected ? gpuLabel(trans, selected, snapshot) : null}
            longIdle={thresholds.long_idle}
            onChange={onView}
          />
        )}
        {shown.length > 0 ? (
          <KernelGrid
            label={trans.__('Kernels that hold GPU memory')}
            snapshot={snapshot}
            rows={shown}
            compact={compact}
            expanded={view.expanded}
            disabled={stale}
            onToggle={toggleRow}
            selection={{ selected: view.selected, onSelect: toggleSelected }}
            target={target}
          />
        ) : filtered ? (
          <p className="jp-Vram-Empty-line">
            {trans.__('No kernel passes this filter.')}
          </p>
        ) : (
          <NoKernels />
        )}
        <SelectionLine
          rows={shown.filter(({ id }) => view.selected.has(id))}
          disabled={stale}
          onClear={() => onView({ selected: new Set() })}
        />
        {rows.without.length > 0 && (
          <Section
            minor
            title={trans._n(
              '%1 kernel without GPU memory',
              '%1 kernels without GPU memory',
              rows.without.length
            )}
            open={
              !view.folded.has('without') ||
              rows.without.some(({ id }) => id === target?.kernelId)
            }
            onToggle={toggle('without')}
          >
            <KernelGrid
              label={trans.__('Kernels without GPU memory')}
              snapshot={snapshot}
              rows={rows.without}
              compact={compact}
              expanded={view.expanded}
              disabled={stale}
              onToggle={toggleRow}
              target={target}
            />
          </Section>
        )}
      </Section>
      {(gone.length > 0 || compact) && (
        <Section
          title={trans.__('Leftover processes')}
          figure={
            gone.length === 0
              ? trans.__('none')
              : size(sumOfKnown(gone.map(({ bytes }) => bytes)))
          }
          open={gone.length > 0 && !view.folded.has('leftovers')}
          onToggle={toggle('leftovers')}
        >
          <LeftoverList lines={gone} snapshot={snapshot} disabled={stale} />
        </Section>
      )}
      {rest.length > 0 && (
        <Section
          title={
            snapshot.views.processes === 'all'
              ? trans.__('Other processes')
              : trans.__('Not visible here')
          }
          figure={size(sumOfKnown(rest.map(({ bytes }) => bytes)))}
          open={!view.folded.has('others')}
          onToggle={toggle('others')}
        >
          <OtherList lines={rest} snapshot={snapshot} />
        </Section>
      )}
      {snapshot.source === 'simulated' && (
        <p className="jp-Vram-Empty-line">
          {trans.__(
            'Invented GPU. Kernels are real: restart and shut down really do.'
          )}
        </p>
      )}
    </>
  );
}

function NoKernels(): JSX.Element {
  const { trans, report } = usePanel();
  return (
    <div className="jp-Vram-Empty">
      <notebookIcon.react tag="span" className="jp-Vram-Icon" />
      <h3>{trans.__('No notebook holds GPU memory')}</h3>
      <p>
        {trans.__(
          'Run a cell that uses the GPU; its notebook appears here with its size.'
        )}
      </p>
      <div className="jp-Vram-Empty-buttons">
        <button
          className="jp-Vram-Link"
          onClick={() => report(showHelp(trans))}
        >
          {trans.__('What this panel can do')}
        </button>
      </div>
    </div>
  );
}
