import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { prepareDataDir } from '../../infra/embedded/data-dir.ts'
import { convertDatabase } from '../../infra/embedded/eventstore/database.ts'
import { OpenError } from '../../infra/embedded/eventstore/types.ts'
import { verifyAll } from '../../infra/embedded/eventstore/verify.ts'
import { loadConfig } from '../config.ts'
import { CommandError, note, print, progress, toJson } from './output.ts'
import { embeddedLogIn } from './stores.ts'
import { JSON_OPTION } from './command.ts'

/** Commands on the files of the embedded log, with nothing running on it. */

const VERIFY_HELP = `
Reads every entry of DATA_DIR/eventstore with its checksum, shows progress, and reports damage: each damaged or
missing event by its position, and damaged heads of streams. It changes no event. Stop the gateway first.

The exit code is 1 if there is any damage. Restore the whole folder from a backup then: a running gateway answers
reads of damaged events with an error, and refuses to append to a stream whose head is damaged.`

const CONVERT_HELP = `
A log of an earlier release has no checksums, so that a changed byte is not detected. This command adds them, with
progress, and changes no event. Stop the gateway and copy DATA_DIR/eventstore first. If the conversion is stopped,
run the command again to continue; the gateway does not start before the conversion is complete.`

/** Registers `tollgate verify-log` and `tollgate convert-log`. */
export function addLogFiles(program: Command): void {
  program
    .command('verify-log')
    .description('check all of the embedded log for damage; exit code 1 if there is any')
    .option(...JSON_OPTION)
    .addHelpText('after', VERIFY_HELP)
    .action(verifyLogCommand)
  program
    .command('convert-log')
    .description('add checksums to the embedded log of an earlier release')
    .option(...JSON_OPTION)
    .addHelpText('after', CONVERT_HELP)
    .action(convertLogCommand)
}

interface JsonOption {
  readonly json?: boolean
}

/** `tollgate verify-log`: exit code 1 where something is damaged. */
function verifyLogCommand({ json }: JsonOption): Promise<void> {
  return onLogFiles(async (folder, onProgress) => {
    const { events, hasChecksums, damaged, damagedInAll } = await verifyAll(folder, onProgress)
    if (damagedInAll > 0) process.exitCode = 1
    if (json === true) return print(toJson({ events, hasChecksums, damagedInAll, damaged }))
    for (const what of damaged) print(what)
    if (damagedInAll > damaged.length) print(`and ${damagedInAll - damaged.length} more`)
    if (!hasChecksums)
      note(
        'this log has no checksums, so that a changed byte is not detected: run tollgate convert-log',
      )
    print(
      damagedInAll === 0
        ? `whole: ${events} events`
        : `damaged: ${damagedInAll} findings in ${events} events`,
    )
  })
}

/** `tollgate convert-log`; run again it goes on where it was stopped. */
function convertLogCommand({ json }: JsonOption): Promise<void> {
  return onLogFiles(async (folder, onProgress) => {
    const isConverted = await convertDatabase(folder, onProgress)
    if (json === true) return print(toJson({ outcome: isConverted ? 'converted' : 'unchanged' }))
    print(isConverted ? 'checksums were added to the log' : 'the log already has checksums')
  })
}

async function onLogFiles(
  work: (folder: string, onProgress: (entries: number) => void) => Promise<void>,
): Promise<void> {
  const { external, dataDir } = loadConfig()
  if (external !== undefined)
    throw new CommandError(
      'EVENTSTORE_URL names an external event store: use its own tools for its files',
    )
  if (!existsSync(join(dataDir, 'version')))
    throw new CommandError(`there is no log in ${dataDir} yet: set DATA_DIR`)
  const held = await prepareDataDir(dataDir)
  const shown = progress('entries')
  try {
    await work(embeddedLogIn(held.path), (entries) => shown.update(entries))
  } catch (error) {
    if (error instanceof OpenError) throw new CommandError(error.message, { cause: error })
    throw error
  } finally {
    shown.end()
    await held.release()
  }
}
