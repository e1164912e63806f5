import type { Command } from 'commander'
import { changing, JSON_OPTION } from '../command.ts'

const spool = () => import('../spool.ts')

const SPOOL_HELP = `
The event log can refuse a settlement for good: it is larger than the event store takes, or not valid to it.
The gateway then sets it aside in DATA_DIR/spool of that replica, and /readyz and
tollgate_spool_refused_records say so. The call was delivered and is not billed until an operator decides:

  tollgate spool list                                    what was refused, with its amounts
  tollgate spool retry call_…                            after the cause is gone: settle it
  tollgate spool resolve call_… --reason 'ticket 4711'   give it up: it will never be billed

A record that the disk damaged is in the list too, with what can still be read of it. Its call may have been
delivered, and is not billed: keep or note what you need, then delete the file that the list names.

Run it with the DATA_DIR of that replica, which may go on serving.`

const RETRY_HELP = `
The event goes into the log as it was made, at its old prices; it is settled once, however often the
command is run. An id is that of a call or of a refused event, as "tollgate spool list" shows them.

Where the log refuses one still, or it was given up, the exit code is 1.`

const RESOLVE_HELP = `
It writes CallWrittenOff into the log: who gave up what, why, and what the tenant would have paid. It moves no
money: the call was never billed. What is in the log already is not given up (exit code 1). Run again
it changes nothing; the first reason stays.`

/** Registers `tollgate spool …`. */
export function addSpool(program: Command): void {
  const group = program
    .command('spool')
    .description('settlements that the event log refused for good, or the disk damaged')
    .addHelpText('after', SPOOL_HELP)
  group
    .command('list')
    .description('what the log refused, oldest first, and what is damaged')
    .option(...JSON_OPTION)
    .action(async (options) => (await spool()).listSpoolCommand(options))
  changing(group.command('retry'))
    .description('try to bring refused settlements into the log once more')
    .argument('[ids...]', 'ids of calls or of refused events')
    .option('--all', 'every one that is listed')
    .addHelpText('after', RETRY_HELP)
    .action(async (ids: readonly string[], options) =>
      (await spool()).retryRefusedCommand(ids, options),
    )
  changing(group.command('resolve'))
    .description('give a refused settlement up, so that it is never billed')
    .argument('<id>', 'id of a call or of a refused event')
    .requiredOption('--reason <text>', 'why, for readers of the log')
    .addHelpText('after', RESOLVE_HELP)
    .action(async (id: string, options) => (await spool()).resolveRefusedCommand(id, options))
}
