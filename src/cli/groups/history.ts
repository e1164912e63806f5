import type { Command } from 'commander'
import { JSON_OPTION, onStores } from '../command.ts'

const REPLAY_HELP = `
The id is that of a task or an asset (ours or native), a group of assets, a verification, a call or a
request ("x-request-id" of any answer): of a request everything it began, and whatever else it did. Each
row says when the log recorded the event, how long after the row before, and what it moves. --json prints
events whole, a line each.

Events are found through the timeline, by tenant and time. --from-log reads the log itself instead, and
needs nothing of Postgres: all of it up to --to, but for ids of ours that name their stream.

Where nothing is found the exit code is 1.`

const RECEIPT_HELP = `
The id is that of a call, a task (platform or native), the request that began either ("x-request-id" of any
answer), or a line of the ledger (line_id). Each line is worked out to its last digit, with its hash in the
ledger's chain; corrections and the timeline follow.

Where nothing is found the exit code is 1.`

/** Registers `tollgate replay`, `tollgate receipt` and `tollgate events`. */
export function addHistory(program: Command): void {
  program
    .command('replay')
    .description(
      'show what happened: every event of a task, an asset, a call, a request or a tenant',
    )
    .argument('[id]', 'id of a task or an asset, ours or native, of a call or of a request')
    .option('--asset <id>', 'an asset, a group or a verification, and nothing else of that id')
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
    .command('receipt')
    .description('say what a task or a call cost, and why')
    .argument('<id>', 'id of a call, a task, a request or a ledger line')
    .option('--tenant <id>', 'only if it is this tenant’s')
    .option(...JSON_OPTION)
    .addHelpText('after', RECEIPT_HELP)
    .action(onStores(async () => (await import('../receipt.ts')).receiptCommand))
  program
    .command('events')
    .description('print every event of the log as JSON lines')
    .option('--after <position>', 'only events after this position')
    .action(async (options) => (await import('../events.ts')).eventsCommand(options))
}
