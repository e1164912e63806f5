import { existsSync } from 'node:fs'
import { prepareDataDir } from '../../infra/embedded/data-dir.ts'
import { listRefused } from '../app/calls/refused-records.ts'
import { spoolEmptied } from '../app/spending/replica-reports.ts'
import { dataFiles, loadConfig } from '../config.ts'
import { readDamaged } from '../eventlog/journal/damaged-records.ts'
import { startDrain } from '../eventlog/journal/drain.ts'
import { newInstanceId } from '../eventlog/journal/journal.ts'
import { defaultJournalLimits } from '../eventlog/journal/limits.ts'
import { openSpool, spoolIdentity } from '../eventlog/journal/spool.ts'
import { systemClock } from '../kernel/clock.ts'
import { exitCodes } from './exit-codes.ts'
import { CommandError, note, print, toJson } from './output.ts'
import { type Session, withSession } from './session.ts'

export const DRAIN_HELP = `
For the volume of a replica that never comes back, on stores that the replicas share. Run it with that replica's DATA_DIR,
which no process may use meanwhile. Each record is settled once, however often the command is run, from copies of the folder
too, and after the spool was given up.

Exit code 0: the spool is empty, and the volume can go. 1: records are left that an operator decides on, see "tollgate spool
list". 75: the log was away; run it again.`

/** `tollgate spool drain` */
export async function drainSpoolCommand({ json }: { readonly json?: boolean }): Promise<void> {
  const { dataDir, external } = loadConfig()
  const { spool: directory } = dataFiles(dataDir)
  if (external === undefined)
    throw new CommandError(
      'embedded stores are in DATA_DIR too: the next "tollgate serve" on it drains the spool',
    )
  // A folder that is not mounted would look like an empty spool.
  if (!existsSync(directory))
    throw new CommandError(
      `there is no spool in ${directory}: set DATA_DIR to the data directory of the replica`,
    )
  const held = await prepareDataDir(dataDir)
  try {
    await withSession((session) => drainInto(session, directory, json))
  } finally {
    await held.release()
  }
}

/** @throws what the log answered to the last append, while records are left */
async function drainInto(
  { log, logger, pool }: Session,
  directory: string,
  json: boolean | undefined,
): Promise<void> {
  const nowMs = systemClock.nowMs()
  const spoolId = await spoolIdentity(directory, nowMs)
  const instanceId = newInstanceId(nowMs)
  const spool = await openSpool({ directory, instanceId, logger, clock: systemClock })
  const { records: waiting } = spool.state()
  try {
    const limits = defaultJournalLimits
    const drain = startDrain({ log, logger, spool, limits, onAnswer: () => undefined })
    await drain.stop(Number.POSITIVE_INFINITY)
    const { records: left } = spool.state()
    if (left > 0) {
      note(`${waiting - left} of ${waiting} records left the spool, ${left} wait`)
      throw drain.failure() ?? new Error('the spool is not empty')
    }
  } finally {
    await spool.close()
  }
  await spoolEmptied(pool, spoolId)
  const refused = (await listRefused(directory)).length
  const damaged = (await readDamaged(directory)).length
  if (refused + damaged > 0) process.exitCode = exitCodes.failed
  if (json) return print(toJson({ records: waiting, refused, damaged }))
  print(`${waiting} records left the spool, which is empty`)
  if (refused + damaged > 0)
    print(`${refused} refused and ${damaged} damaged ones are left: see "tollgate spool list"`)
}
