import type { Command } from 'commander'
import { JSON_OPTION, onStores } from './command.ts'

/** Registers `tollgate replay` and `tollgate events`. */
export function addHistory(program: Command): void {
  program
    .command('replay')
    .description('show what happened, from the log: every event of a task or a tenant')
    .option('--tenant <id>', 'events of this tenant')
    .option('--task <id>', 'events of this task (platform or native id)')
    .option('--from <time>', 'from this RFC 3339 time on')
    .option('--to <time>', 'before this RFC 3339 time')
    .option('--as-of <time or position>', 'the state as it was then instead of the events')
    .option(...JSON_OPTION)
    .action((options) =>
      onStores(async (s) => (await import('../replay/replay.ts')).replay(s, options)),
    )
  program
    .command('events')
    .description('print every event of the log as JSON lines')
    .option('--after <position>', 'only events after this position')
    .action((options) =>
      onStores(async (s) => (await import('../events.ts')).eventsCommand(s, options)),
    )
}
