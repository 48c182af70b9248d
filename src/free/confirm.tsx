import { Dialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';
import type { ILanguage } from '../language';
import type { IVramModel } from '../tokens';
import { amountText, type IAmount } from './amounts';
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
export function confirmEnd(
  model: IVramModel,
  kernelId: string,
  id: 'restart' | 'shutdown',
  language: ILanguage,
  core: TranslationBundle
): Promise<boolean> {
  const { trans } = language;
  const name = kernelTitle(model, kernelId, trans);
  const words =
    id === 'restart'
      ? {
          title: core.__('Restart Kernel?'),
          question: core.__(
            'Do you want to restart the kernel of %1? All variables will be lost.',
            name
          ),
          cancel: core.__('Cancel Kernel Restart'),
          accept: core.__('Restart'),
          acceptLabel: core.__('Confirm Kernel Restart')
        }
      : {
          title: trans.__('Shut Down Kernel?'),
          question: trans.__(
            'Do you want to shut down the kernel of %1? All variables will be lost.',
            name
          ),
          cancel: trans.__('Cancel Kernel Shutdown'),
          accept: core.__('Shut Down'),
          acceptLabel: trans.__('Confirm Kernel Shutdown')
        };
  return ask({
    title: words.title,
    body: (
      <>
        <p>{words.question}</p>
        <Returns model={model} kernelId={kernelId} language={language} />
      </>
    ),
    cancel: Dialog.cancelButton({ ariaLabel: words.cancel }),
    accept: Dialog.warnButton({
      label: words.accept,
      ariaLabel: words.acceptLabel
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
  language: ILanguage;
}): JSX.Element | null {
  const { model, kernelId, language } = props;
  const { trans } = language;
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
          ? trans.__('Returns %1 to %2.', amountText(language, amount), gpus)
          : trans.__('Returns %1.', amountText(language, amount))}
    </p>
  );
}
