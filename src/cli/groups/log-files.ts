import type { Command } from 'commander'
import { JSON_OPTION } from '../command.ts'

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

const BACKUP_HELP = `
Copies what the embedded installation cannot make again into a new folder, also while the gateway runs: the event log,
the spool, objects and the secret. Postgres is not copied: a gateway that starts on the copy builds it from the log. All of the
copied log is read with its checksums. The folder has its name only once it is whole; an interrupted backup is
made from the beginning by the same command.

To restore, copy the folder to where DATA_DIR is to be, and start the gateway there: docs/backup.md.`

/** Registers `tollgate verify-log`, `tollgate convert-log` and `tollgate backup`. */
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
  program
    .command('backup')
    .description('copy what cannot be made again into a new folder, also while the gateway runs')
    .argument('<folder>', 'a new folder, outside of DATA_DIR')
    .option('--no-objects', 'without uploads and results')
    .option(...JSON_OPTION)
    .addHelpText('after', BACKUP_HELP)
    .action(async (folder: string, options) =>
      (await import('../backup.ts')).backupCommand(folder, options),
    )
}
