import type {
  IRunningSessionManagers,
  IRunningSessions
} from '@jupyterlab/running';
import type { ReactNode } from 'react';

/** What core's rows of kernels are recognised by: the class of their style and context menu. */
const KERNEL_CLASS = 'jp-mod-kernel';

/**
 * Add a detail to every row of a kernel in the running list.
 *
 * #### Notes
 * Core has no door for that: its lists are objects of its own, so their `running` is wrapped. A
 * row is recognised by its class and by carrying a kernel's id as its context; where core has
 * no such rows, or gives them a detail itself, nothing happens. What `detail` returns is placed by
 * React as it is, so that a component can stand where the interface says `string`.
 */
export function decorateKernels(
  managers: IRunningSessionManagers,
  detail: (kernelId: string) => ReactNode
): void {
  const decorate = (item: IRunningSessions.IRunningItem) => {
    const { className, context: kernelId } = item;
    if (className === KERNEL_CLASS && kernelId && !item.detail) {
      item.detail = () => detail(kernelId) as string;
    }
    // Children of a kernel are its sessions.
    if (className !== KERNEL_CLASS) {
      item.children?.forEach(decorate);
    }
  };
  const wrap = (manager: IRunningSessions.IManager) => {
    const running = manager.running;
    manager.running = options => {
      const items = running.call(manager, options);
      items.forEach(decorate);
      return items;
    };
  };
  managers.items().forEach(wrap);
  managers.added.connect((_, manager) => wrap(manager), managers);
}
