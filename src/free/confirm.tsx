import { Dialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';
import type { IVramModel } from '../tokens';
import { amountText, type IAmount } from './planmodel';
import { gpuTitle, kernelTitle } from './subject';

/** A dialog of ours whose focus starts on the button that changes nothing. */
export async function ask(options: {
  title: string;
  body: JSX.Element;
  cancel: Dialog.IButton;
  accept: Dialog.IButton;
}): Promise<boolean> {
  const dialog = new Dialog({
    title: options.title,
    body: options.body,
    buttons: [options.cancel, options.accept],
    defaultButton: 0
  });
  dialog.addClass('jp-Vram-AskDialog');
  dialog.node.setAttribute('aria-label', options.title);
  return (await dialog.launch()).button.accept;
}

/** Ask in JupyterLab's words, with what it brings. */
export function confirmRestart(
  model: IVramModel,
  kernelId: string,
  trans: TranslationBundle,
  core: TranslationBundle
): Promise<boolean> {
  const name = kernelTitle(model, kernelId, trans);
  return ask({
    title: core.__('Restart Kernel?'),
    body: (
      <>
        <p>
          {core.__(
            'Do you want to restart the kernel of %1? All variables will be lost.',
            name
          )}
        </p>
        <Returns model={model} kernelId={kernelId} trans={trans} />
      </>
    ),
    cancel: Dialog.cancelButton({
      ariaLabel: core.__('Cancel Kernel Restart')
    }),
    accept: Dialog.warnButton({
      label: core.__('Restart'),
      ariaLabel: core.__('Confirm Kernel Restart')
    })
  });
}

export function confirmShutdown(
  model: IVramModel,
  kernelId: string,
  trans: TranslationBundle,
  core: TranslationBundle
): Promise<boolean> {
  const name = kernelTitle(model, kernelId, trans);
  return ask({
    title: trans.__('Shut Down Kernel?'),
    body: (
      <>
        <p>
          {trans.__(
            'Do you want to shut down the kernel of %1? All variables will be lost.',
            name
          )}
        </p>
        <Returns model={model} kernelId={kernelId} trans={trans} />
      </>
    ),
    cancel: Dialog.cancelButton({
      ariaLabel: trans.__('Cancel Kernel Shutdown')
    }),
    accept: Dialog.warnButton({
      label: core.__('Shut Down'),
      ariaLabel: trans.__('Confirm Kernel Shutdown')
    })
  });
}

/** Whether processes that the kernel started hold memory, too; they may outlive it. */
function hasOthers(model: IVramModel, kernelId: string): boolean {
  return (model.snapshot?.holders ?? []).some(
    holder => holder.kernel_id === kernelId && holder.role !== 'main'
  );
}

/** `Returns 11.2 GiB to GPU 0.`; nothing where the kernel is measured to hold none. */
function Returns(props: {
  model: IVramModel;
  kernelId: string;
  trans: TranslationBundle;
}): JSX.Element | null {
  const { model, kernelId, trans } = props;
  const kernel = model.kernel(kernelId);
  const bytes = kernel?.bytes ?? null;
  if (bytes === 0) {
    return null;
  }
  const amount: IAmount = {
    bytes,
    is: hasOthers(model, kernelId) ? 'at-most' : 'exact'
  };
  const gpus = gpuTitle(model, Object.keys(kernel?.gpus ?? {}), trans);
  return (
    <p className="jp-Vram-FreeNote">
      {bytes === null
        ? trans.__('How much GPU memory this returns is not known.')
        : gpus
          ? trans.__('Returns %1 to %2.', amountText(trans, amount), gpus)
          : trans.__('Returns %1.', amountText(trans, amount))}
    </p>
  );
}
