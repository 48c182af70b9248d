import React from 'react';
import type { Gpu, History as Record_ } from '../service/wire';
import { usePanel } from './context';
import { SPANS } from './view';
import type { Span } from './view';

export interface IHistoryProps {
  gpu: Gpu;
  label: string;
  names: ReadonlyMap<string, string>;
  span: Span;
  onSpan: (span: Span) => void;
  /** When the reading on screen was taken: the chart follows it. */
  takenAt: number;
}

type Chart = typeof import('./chart').HistoryChart;

/** A GPU's past by kernel. The chart library is loaded when the first one opens. */
export function History(props: IHistoryProps): JSX.Element {
  const { gpu, label, span, onSpan, takenAt } = props;
  const { model, trans } = usePanel();
  const [record, setRecord] = React.useState<Record_ | null>(null);
  const [problem, setProblem] = React.useState<string | null>(null);
  const [chart, setChart] = React.useState<{ Chart: Chart } | null>(null);
  // One new point is 1/120 of the width; asking more often would draw the same picture.
  const due = Math.floor(takenAt / (span / 120));

  React.useEffect(() => {
    let current = true;
    const fail = (reason: unknown): void => {
      if (current) {
        setProblem(reason instanceof Error ? reason.message : String(reason));
      }
    };
    import('./chart').then(({ HistoryChart }) => {
      if (current) {
        setChart({ Chart: HistoryChart });
      }
    }, fail);
    return () => {
      current = false;
    };
  }, []);

  React.useEffect(() => {
    let current = true;
    model.history(span, gpu.uuid).then(
      answer => {
        if (current) {
          setRecord(answer);
          setProblem(null);
        }
      },
      (reason: unknown) => {
        if (current) {
          setProblem(reason instanceof Error ? reason.message : String(reason));
        }
      }
    );
    return () => {
      current = false;
    };
  }, [model, gpu.uuid, span, due]);

  const words: { [span in Span]: string } = {
    600: trans.__('10 min'),
    3600: trans.__('1 h'),
    21600: trans.__('6 h')
  };
  return (
    <div className="jp-Vram-Hist">
      <div className="jp-Vram-Hist-head">
        <span className="jp-Vram-wide">{trans.__('GiB by kernel')}</span>
        <span className="jp-Vram-Hist-load">{trans.__('%1 load', '%')}</span>
        <div
          className="jp-Vram-Choice jp-Vram-end"
          role="group"
          aria-label={trans.__('Range')}
        >
          {SPANS.map(choice => (
            <button
              key={choice}
              aria-pressed={choice === span}
              onClick={() => onSpan(choice)}
            >
              {words[choice]}
            </button>
          ))}
        </div>
      </div>
      {problem !== null && (
        <p className="jp-Vram-Gpu-note">
          {trans.__('The history can’t be shown: %1', problem)}
        </p>
      )}
      {problem === null && (record === null || chart === null) && (
        <p className="jp-Vram-Gpu-note">{trans.__('Loading the history…')}</p>
      )}
      {record !== null && chart !== null && (
        <chart.Chart
          gpu={gpu}
          label={label}
          names={props.names}
          record={record}
          span={span}
        />
      )}
    </div>
  );
}
