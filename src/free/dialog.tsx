import { ReactWidget, UseSignal } from '@jupyterlab/ui-components';
import React from 'react';
import { formatBytes } from '../format';
import { KernelKey } from '../kernelkey';
import type { Report } from '../service/wire';
import { Banner } from './banner';
import { BusyView } from './busy';
import { footerOf, titleOf } from './footer';
import { placesFor } from './places';
import { PlanView } from './plan';
import { ResultView } from './result';
import { RunningView } from './running';
import { currentStep } from './runningmodel';
import type { FreeSession } from './session';
import { FreeShell } from './shell';
import { gpuTitle, measuredText, stateText } from './subject';

/** What the dialog asks of its surroundings; each closes the dialog first where it opens another. */
export interface IFreeActions {
  restart: () => void;
  restore: () => void;
  end: (processes: { pid: number; startedAt: number }[]) => void;
  copy: (text: string) => void;
  copyDetails: (report: Report) => void;
}

/** The dialog of one kernel. */
export function freeDialog(
  session: FreeSession,
  actions: IFreeActions
): FreeShell {
  const dialog: FreeShell = new FreeShell({
    changed: session.changed,
    trans: session.language.trans,
    body: new FreeBody(session, {
      ...actions,
      restore: () => {
        dialog.reject();
        actions.restore();
      },
      end: processes => {
        dialog.reject();
        actions.end(processes);
      }
    }),
    title: () => titleOf(session),
    footer: () => footerOf(session),
    run: () => session.run(),
    load: () => session.load(),
    stop: () => session.stop(),
    restart: actions.restart
  });
  return dialog;
}

class FreeBody extends ReactWidget {
  constructor(
    private _session: FreeSession,
    private _actions: IFreeActions
  ) {
    super();
  }

  protected override render(): JSX.Element {
    const session = this._session;
    return (
      <UseSignal signal={session.changed}>
        {() => (
          <UseSignal signal={session.model.changed}>
            {() => (
              <>
                <Subject session={session} />
                <PhaseView session={session} actions={this._actions} />
              </>
            )}
          </UseSignal>
        )}
      </UseSignal>
    );
  }
}

/** Letter, GPU, state, size: whose memory this is about. */
function Subject(props: { session: FreeSession }): JSX.Element | null {
  const { model, kernelId, language, phase } = props.session;
  const { trans } = language;
  if (phase.kind === 'result') {
    return null;
  }
  const key = model.keyOf(kernelId);
  const kernel = model.kernel(kernelId);
  const plan = 'plan' in phase ? phase.plan : null;
  const held = plan?.bytes ?? kernel?.bytes ?? null;
  const parts = [
    gpuTitle(model, Object.keys(plan?.gpus ?? kernel?.gpus ?? {}), trans),
    stateText(model, kernelId, trans),
    trans.__('holds %1', formatBytes(held, language))
  ];
  if (phase.kind === 'running') {
    const step = currentStep(phase);
    parts.push(
      trans.__(
        'step %1 of %2',
        Math.min(step + 1, phase.steps.length),
        phase.steps.length
      )
    );
  } else if (plan?.measured_at) {
    parts.push(measuredText(model, plan.measured_at, trans));
  }
  return (
    <p className="jp-Vram-FreeSubject">
      {key && <KernelKey kernelKey={key} />}
      <span>{parts.filter(part => part).join(' · ')}</span>
    </p>
  );
}

function PhaseView(props: {
  session: FreeSession;
  actions: IFreeActions;
}): JSX.Element {
  const { session, actions } = props;
  const { phase, model, kernelId, language } = session;
  const { trans } = language;
  const kernelKey = model.keyOf(kernelId);
  switch (phase.kind) {
    case 'loading':
      return (
        <p className="jp-Vram-FreeNote" role="status">
          {trans.__('Measuring what can be freed…')}
        </p>
      );
    case 'failed':
      return (
        <Banner tone="fail" role="alert">
          {phase.text}
        </Banner>
      );
    case 'gone':
      return (
        <Banner tone="note" role="status">
          {phase.text ??
            trans.__(
              'This kernel has ended. What its processes still hold is listed under “Leftover” in the GPU memory panel.'
            )}
        </Banner>
      );
    case 'plan':
      return (
        <PlanView
          plan={phase.plan}
          selection={phase.selection}
          places={placesFor(model, Object.keys(phase.plan.gpus), language)}
          canRunAgain={session.canRunAgain}
          kernelKey={kernelKey}
          parked={model.kernel(kernelId)?.parked ?? null}
          onTick={id => session.tick(id)}
          onSelect={change => session.select(change)}
          onRestore={actions.restore}
          onCopy={actions.copy}
          language={language}
        />
      );
    case 'busy':
      return (
        <BusyView
          plan={phase.plan}
          choice={phase.choice}
          onChoose={choice => session.choose(choice)}
          language={language}
        />
      );
    case 'running':
      return <RunningView {...phase} language={language} />;
    case 'result':
      return (
        <ResultView
          result={phase.result}
          name={session.name}
          kernelKey={kernelKey}
          model={model}
          onPlanAgain={() => void session.load()}
          onCopy={() => actions.copyDetails(phase.result.report)}
          onRestore={actions.restore}
          onEnd={actions.end}
          language={language}
        />
      );
  }
}
