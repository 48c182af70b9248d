import type { CommandRegistry } from '@lumino/commands';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

/** Run a command of another plugin, which may be disabled: then nothing happens. */
export function executeIfThere(
  commands: CommandRegistry,
  command: string,
  args: ReadonlyPartialJSONObject = {}
): void {
  if (commands.hasCommand(command)) {
    void commands.execute(command, args);
  }
}
