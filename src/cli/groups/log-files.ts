import type { Command } from 'commander'
import { JSON_OPTION } from './command.ts'

const files = () => import('../log-files.ts')

const VERIFY_HELP = `
Reads every entry of DATA_DIR/eventstore with its checksum, shows progress, and names what is damaged: each event by
its position, what is missing, and heads of streams. It changes no event. Stop the gateway first.

The exit code is 1 where something is damaged. Put the folder back from a backup then, whole: a running gateway
answers reads of what is damaged with an error, and refuses to append to a stream whose head is.`

const CONVERT_HELP = `
A log that was made by an earlier release has no checksums, so that a changed byte goes unnoticed. This writes them, with
progress, and changes no event. Stop the gateway and copy DATA_DIR/eventstore first. A conversion that was
stopped is gone on with by the same command, and the gateway does not start before it is done.`

/** Registers `tollgate verify-log` and `tollgate convert-log`. */
export function addLogFiles(program: Command): void {
  program
    .command('verify-log')
    .description('read all of the embedded log and name what is damaged; exit code 1 for anything')
    .option(...JSON_OPTION)
    .addHelpText('after', VERIFY_HELP)
    .action(async (options) => (await files()).verifyLogCommand(options))
  program
    .command('convert-log')
    .description('give the embedded log of an earlier release its checksums')
    .option(...JSON_OPTION)
    .addHelpText('after', CONVERT_HELP)
    .action(async (options) => (await files()).convertLogCommand(options))
}
