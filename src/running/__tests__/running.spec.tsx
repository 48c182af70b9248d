/* eslint-disable jupyter/no-untranslated-string -- expected texts */
import type { IRunningSessions } from '@jupyterlab/running';
import { RunningSessionManagers } from '@jupyterlab/running';
import { nullTranslator } from '@jupyterlab/translation';
import { kernelIcon, ReactWidget } from '@jupyterlab/ui-components';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import React from 'react';
import { kernel, panel } from '../../__tests__/mockup';
import type { VramModel } from '../../model/model';
import {
  CONFIG,
  readModel,
  snapshot,
  TestServer,
  until
} from '../../service/__tests__/server';
import { RunningDetail } from '../detail';
import { decorateKernels } from '../rows';

/** A row as core's list of kernels makes it. */
function row(
  change: Partial<IRunningSessions.IRunningItem> = {}
): IRunningSessions.IRunningItem {
  return {
    className: 'jp-mod-kernel',
    context: 'k1',
    icon: () => kernelIcon,
    label: () => 'a.ipynb',
    ...change
  };
}

function manager(
  items: IRunningSessions.IRunningItem[]
): IRunningSessions.IManager {
  return {
    name: 'any name',
    running: () => items,
    shutdownAll: () => undefined,
    refreshRunning: () => undefined,
    runningChanged: new Signal({})
  };
}

describe('decorateKernels', () => {
  const list = (items: IRunningSessions.IRunningItem[], added = false) => {
    const managers = new RunningSessionManagers();
    const list = manager(items);
    if (!added) {
      managers.add(list);
    }
    decorateKernels(managers, id => `size of ${id}`);
    if (added) {
      managers.add(list);
    }
    return list.running({ mode: 'tree' });
  };

  it.each([false, true])('finds kernels (list added later: %p)', added => {
    expect(list([row()], added)[0].detail?.()).toBe('size of k1');
  });

  it('finds kernels below their kernelspec, and leaves their sessions alone', () => {
    const session = row({ className: 'jp-mod-kernel-widget' });
    const inner = row({ children: [session] });
    list([row({ className: 'jp-mod-kernelspec', children: [inner] })]);
    expect(inner.detail?.()).toBe('size of k1');
    expect(session.detail).toBeUndefined();
  });

  it.each([
    ['another class', row({ className: 'jp-mod-terminal' })],
    ['no class', row({ className: undefined })],
    ['no kernel', row({ context: undefined })]
  ])('does nothing to a row with %s', (_, item) => {
    list([item]);
    expect(item.detail).toBeUndefined();
  });

  it('keeps a detail that is there', () => {
    const item = row({ detail: () => 'theirs' });
    list([item]);
    expect(item.detail?.()).toBe('theirs');
  });
});

describe('RunningDetail', () => {
  let server: TestServer;
  let model: VramModel;
  let widget: ReactWidget;

  beforeEach(async () => {
    server = await TestServer.start();
  });

  afterEach(async () => {
    widget.dispose();
    model.dispose();
    await server.stop();
  });

  async function show(kernelId: string): Promise<void> {
    model = await readModel(server);
    widget = ReactWidget.create(
      <RunningDetail
        model={model}
        kernelId={kernelId}
        trans={nullTranslator.load('jupyterlab_vram')}
        locale="en"
      />
    );
    Widget.attach(widget, document.body);
    await until(() => widget.node.querySelector('.jp-Vram-Running') !== null);
  }

  const text = () => widget.node.textContent!.replaceAll('\u00a0', ' ');

  it('shows letter and size, and marks long idleness', async () => {
    await show('embeddings');
    expect(text()).toBe('B11.2 GiB');
    expect(widget.node.querySelector('.jp-Vram-Icon')).not.toBeNull();
  });

  it('does not mark a busy kernel', async () => {
    await show('train-resnet');
    expect(text()).toBe('A15.8 GiB');
    expect(widget.node.querySelector('.jp-Vram-Icon')).toBeNull();
  });

  it("takes the server's threshold for idleness", async () => {
    server.answers['GET config'] = {
      body: {
        ...CONFIG,
        thresholds: { ...CONFIG.thresholds, long_idle: 10 * 3600 }
      }
    };
    await show('embeddings');
    expect(widget.node.querySelector('.jp-Vram-Icon')).toBeNull();
  });

  it('is empty for a kernel without GPU memory', async () => {
    await show('notes');
    expect(text()).toBe('');
  });

  it('says — for a size that is hidden', async () => {
    server.answers['GET snapshot'] = {
      body: snapshot({
        ...panel(),
        kernels: [kernel('odd.ipynb', { 'GPU-0': null }, 1)]
      })
    };
    await show('odd');
    expect(text()).toBe('—');
  });

  it('follows the readings', async () => {
    await show('llm-eval');
    server.answers['GET snapshot'] = {
      body: snapshot({
        ...panel(),
        kernels: [kernel('llm-eval.ipynb', { 'GPU-1': 9.5 }, 1)]
      })
    };
    await model.refresh();
    await until(() => text() === 'C9.5 GiB');
  });
});
