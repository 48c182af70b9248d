import React from 'react';
import { formatBytes } from '../format';
import { gpuLabel } from '../gpus';
import type { ILanguage } from '../language';
import type { Survivor } from '../service/wire';
import type { IKernelKey, IVramModel } from '../tokens';
import { Banner } from './banner';
import { Bar } from './bar';
import { amountText } from './amounts';
import {
  endable,
  outcomeOf,
  processEnded,
  shortText,
  wasRun,
  type Outcome
} from './resultmodel';
import { outcome, outcomeIcon, StepLine } from './running';
import type { IResult } from './session';
import { gpuTitle } from './subject';
import { cachedIn, contextOf } from './uses';
import { stepLabel } from './words';

export interface IResultViewProps {
  result: IResult;
  /** What the kernel is called. */
  name: string;
  kernelKey: IKernelKey | null;
  model: IVramModel;
  onPlanAgain: () => void;
  onCopy: () => void;
  onRestore: () => void;
  onEnd: (processes: { pid: number; startedAt: number }[]) => void;
  language: ILanguage;
}

/** What a run brought, read from the driver before and after. */
export function ResultView(props: IResultViewProps): JSX.Element {
  const { trans } = props.language;
  const { report, expected } = props.result;
  const ended = outcomeOf(report, expected);
  return (
    <>
      <Headline {...props} outcome={ended} />
      {report.steps.some(wasRun) && <Remains {...props} />}
      {(ended === 'failed' ||
        ended === 'stopped' ||
        report.steps.length > 1) && <Steps {...props} />}
      {report.survivors.length > 0 && <Survivors {...props} />}
      <FreeNow {...props} />
      <div className="jp-Vram-FreeLinks">
        <button className="jp-Vram-FreeLink" onClick={props.onPlanAgain}>
          {trans.__('Show what is left')}
        </button>
        {report.steps.some(step => step.id === 'park' && step.ok) && (
          <button className="jp-Vram-FreeLink" onClick={props.onRestore}>
            {trans.__('Restore now')}
          </button>
        )}
        <button className="jp-Vram-FreeLink" onClick={props.onCopy}>
          {trans.__('Copy details')}
        </button>
      </div>
    </>
  );
}

function Headline(props: IResultViewProps & { outcome: Outcome }): JSX.Element {
  const { result, name, language } = props;
  const { trans, locale } = language;
  const { report, expected, plan } = result;
  if (!report.steps.some(wasRun)) {
    return (
      <Banner tone="note" role="status">
        {trans.__('No step was run: nothing was changed.')}
      </Banner>
    );
  }
  if (props.outcome === 'short') {
    return (
      <Banner tone="warn" role="status">
        <strong>
          {trans.__(
            'Freed %1, expected %2.',
            formatBytes(report.freed, { locale }),
            amountText(language, expected)
          )}
        </strong>{' '}
        {shortText(language, report, expected)}
      </Banner>
    );
  }
  return (
    <p className="jp-Vram-FreeResult" role="status">
      <strong>
        {trans.__('Freed %1', formatBytes(report.freed, { locale }))}
      </strong>{' '}
      <span>
        {trans.__(
          'of %1 held by %2',
          formatBytes(plan.bytes, { locale }),
          name
        )}
      </span>
    </p>
  );
}

function Remains(props: IResultViewProps): JSX.Element {
  const { result, model, name, language } = props;
  const { trans, locale } = language;
  const { report, plan } = result;
  const gpus = gpuTitle(model, Object.keys(plan.gpus), trans);
  const measured = report.steps.some(step => step.freed_by === 'framework')
    ? trans.__('read from the framework')
    : trans.__('read from the driver');
  const left = trans.__(
    '%1 remains',
    formatBytes(report.remains.bytes, { locale })
  );
  return (
    <>
      <div className="jp-Vram-FreeLine">
        <span>{gpus ? trans.__('%1, %2', gpus, measured) : measured}</span>
        <strong>{left}</strong>
      </div>
      <Bar
        held={plan.bytes}
        gone={report.freed}
        cached={processEnded(report) ? null : cachedIn(report)}
        context={processEnded(report) ? null : contextOf(plan)}
        kernelKey={props.kernelKey}
        label={trans.__(
          '%1: freed %2, %3',
          name,
          formatBytes(report.freed, { locale }),
          left
        )}
      />
      {report.remains.why && (
        <p className="jp-Vram-FreeNote">{report.remains.why}</p>
      )}
    </>
  );
}

function Steps(props: IResultViewProps): JSX.Element {
  const { result, language } = props;
  const { trans } = language;
  return (
    <div className="jp-Vram-FreeLines">
      {result.report.steps.map((step, i) => (
        <StepLine
          key={i}
          icon={outcomeIcon(step)}
          label={stepLabel(trans, result.plan, step.id)}
          state={outcome(language, step)}
          detail={step.text}
        />
      ))}
    </div>
  );
}

function Survivors(props: IResultViewProps): JSX.Element {
  const { result, onEnd, language } = props;
  const { trans } = language;
  const { survivors } = result.report;
  const processes = endable(survivors);
  return (
    <>
      <Banner tone="warn">
        {trans._n(
          '%1 process that the kernel had started still holds GPU memory.',
          '%1 processes that the kernel had started still hold GPU memory.',
          survivors.length
        )}{' '}
        {processes.length > 0 && (
          <button className="jp-Vram-FreeLink" onClick={() => onEnd(processes)}>
            {trans.__('End…')}
          </button>
        )}
      </Banner>
      {survivors.map(survivor => (
        <ProcessLine
          key={`${survivor.pid}-${survivor.gpu}`}
          process={survivor}
          detail=""
          language={language}
        />
      ))}
    </>
  );
}

/** One process: id, name, size. */
export function ProcessLine(props: {
  process: Pick<Survivor, 'pid' | 'name' | 'bytes'>;
  /** What more is known, after the name. */
  detail: string;
  language: ILanguage;
}): JSX.Element {
  const { process, detail, language } = props;
  return (
    <div className="jp-Vram-FreeLine jp-mod-process">
      <code>{process.pid}</code>
      <span className="jp-Vram-FreeLine-name" title={process.name ?? undefined}>
        {[process.name, detail].filter(part => part).join(' · ')}
      </span>
      <span className="jp-Vram-FreeLine-value">
        {formatBytes(process.bytes, language)}
      </span>
    </div>
  );
}

function FreeNow(props: IResultViewProps): JSX.Element | null {
  const { result, model, language } = props;
  const { trans, locale } = language;
  const { snapshot } = model;
  if (snapshot === null || snapshot.taken_at < result.report.at) {
    // A reading from before the end of the run.
    return null;
  }
  return (
    <>
      {Object.entries(result.freeBefore).map(([uuid, before]) => {
        const gpu = model.gpu(uuid);
        return gpu === null || gpu.memory.free === null ? null : (
          <p key={uuid} className="jp-Vram-FreeNote">
            {before === null
              ? trans.__(
                  '%1 now has %2 free.',
                  gpuLabel(trans, gpu, snapshot),
                  formatBytes(gpu.memory.free, { locale })
                )
              : trans.__(
                  '%1 now has %2 free (was %3).',
                  gpuLabel(trans, gpu, snapshot),
                  formatBytes(gpu.memory.free, { locale }),
                  formatBytes(before, { locale })
                )}
          </p>
        );
      })}
    </>
  );
}
