import type { CommandRegistry } from '@lumino/commands';
import { Menu } from '@lumino/widgets';
import { CommandIDs } from './tokens';

/** What can be done with one kernel; `null` draws a line. */
const ITEMS: ReadonlyArray<string | null> = [
  CommandIDs.free,
  CommandIDs.park,
  CommandIDs.restore,
  CommandIDs.cancel,
  null,
  CommandIDs.interrupt,
  CommandIDs.restart,
  CommandIDs.shutdown,
  null,
  CommandIDs.openNotebook,
  CommandIDs.copyDetails
];

/** Whether there is anything to choose: false where the plugin with the commands is disabled. */
export function hasKernelMenu(commands: CommandRegistry): boolean {
  return ITEMS.some(item => item !== null && commands.hasCommand(item));
}

/**
 * The menu of one kernel, the same wherever the kernel is shown.
 *
 * #### Notes
 * Commands get `{kernelId, menu: true}`: their labels leave out the kernel's name then. A command
 * whose plugin is disabled is left out; without any, nothing opens. Once closed, it disposes itself, and who had the focus gets
 * it back unless the choice took it.
 */
export function openKernelMenu(
  commands: CommandRegistry,
  kernelId: string,
  x: number,
  y: number
): Menu | null {
  if (!hasKernelMenu(commands)) {
    return null;
  }
  const menu = new Menu({ commands });
  menu.addClass('jp-Vram-KernelMenu');
  for (const command of ITEMS) {
    if (command === null) {
      menu.addItem({ type: 'separator' });
    } else if (commands.hasCommand(command)) {
      menu.addItem({ command, args: { kernelId, menu: true } });
    }
  }
  const focused = document.activeElement;
  menu.aboutToClose.connect(() => {
    // The chosen command runs after this signal, in the same task.
    setTimeout(() => {
      menu.dispose();
      if (
        document.activeElement === document.body &&
        focused instanceof HTMLElement
      ) {
        focused.focus();
      }
    });
  }, menu);
  menu.open(x, y);
  return menu;
}

/** Open a kernel's menu below an element, as the keyboard asks for it. */
export function openKernelMenuAt(
  commands: CommandRegistry,
  kernelId: string,
  anchor: HTMLElement
): Menu | null {
  const { left, bottom } = anchor.getBoundingClientRect();
  return openKernelMenu(commands, kernelId, left, bottom);
}
