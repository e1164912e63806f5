import type { Command } from 'commander'
import { JSON_OPTION } from './command.ts'

const REPLAY_HELP = `
The id is that of a task (platform or native), a call or a request ("x-request-id" of any answer): of a
request everything it began, and whatever else it did. Each row says when the log recorded the event, how
long after the row before, and what it moves. --json prints events whole, a line each.

Events are found through the timeline, by tenant and time. --from-log reads the log itself instead, and
needs nothing of Postgres: all of it up to --to, but for platform ids, which name their stream.

Where nothing is found the exit code is 1.`

/** Registers `tollgate replay` and `tollgate events`. */
export function addHistory(program: Command): void {
  program
    .command('replay')
    .description('show what happened: every event of a task, a call, a request or a tenant')
    .argument('[id]', 'platform or native id of a task, id of a call or of a request')
    .option('--tenant <id>', 'every event of this tenant; with an id, only if it is the tenant’s')
    .option('--from <time>', 'from this RFC 3339 time on')
    .option('--to <time>', 'before this RFC 3339 time')
    .option('--as-of <time or position>', 'the state of a task or tenant then, not the events')
    .option('--from-log', 'read the log itself, whatever Postgres holds')
    .option(...JSON_OPTION)
    .addHelpText('after', REPLAY_HELP)
    .action(async (id: string | undefined, options) =>
      (await import('../replay/replay.ts')).replayCommand(id, options),
    )
  program
    .command('events')
    .description('print every event of the log as JSON lines')
    .option('--after <position>', 'only events after this position')
    .action(async (options) => (await import('../events.ts')).eventsCommand(options))
}
