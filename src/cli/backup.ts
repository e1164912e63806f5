import type { Command } from 'commander'
import { readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { copyLog } from '../../infra/embedded/eventstore/copy.ts'
import { OpenError } from '../../infra/embedded/eventstore/types.ts'
import { verifyAll } from '../../infra/embedded/eventstore/verify.ts'
import { dataFiles, loadConfig } from '../config.ts'
import { copySpool } from '../eventlog/journal/copy-spool.ts'
import { systemClock, toTimestamp } from '../kernel/clock.ts'
import { copyDurably, makeFolders, replaceFile, syncFolder } from '../platform/durable-files.ts'
import { CommandError, note, progress, show } from './output.ts'
import { embeddedLogIn } from './stores.ts'
import { JSON_OPTION } from './command.ts'

const BACKUP_HELP = `
Copies the data of the embedded installation that cannot be rebuilt into a new folder, also while the gateway runs:
the event log, the spool, objects and the secret. Postgres is not copied: a gateway that starts on the copy rebuilds
it from the log. The whole copied log is read and its checksums are verified. The folder gets its name only when it
is complete; after an interruption the same command starts again from the beginning.

To restore, copy the folder to the place of DATA_DIR, and start the gateway there: docs/backup.md.`

/** Registers `tollgate backup`. */
export function addBackup(program: Command): void {
  program
    .command('backup')
    .description(
      'copy the log, the spool, objects and the secret into a new folder; the gateway may run meanwhile',
    )
    .argument('<folder>', 'a new folder, outside of DATA_DIR')
    .option('--no-objects', 'leave out uploads and results')
    .option(...JSON_OPTION)
    .addHelpText('after', BACKUP_HELP)
    .action(backupCommand)
}

interface Options {
  readonly json?: boolean
  /** Commander sets it to false for `--no-objects`. */
  readonly objects?: boolean
}

const MODE = 0o700

/** `tollgate backup` */
async function backupCommand(folder: string, { json, objects = true }: Options) {
  const { external, dataDir } = loadConfig()
  if (external !== undefined)
    throw new CommandError(
      'back up the event store and Postgres with their own tools, in the order given in docs/backup.md',
    )
  const target = resolve(folder)
  await requireNothingIn(target)
  if (!relative(resolve(dataDir), target).startsWith('..'))
    throw new CommandError('the backup cannot be below DATA_DIR: it would be lost with it')
  // A backup has its name only when it is whole.
  const partial = `${target}.partial`
  await rm(partial, { recursive: true, force: true })
  await makeFolders(partial, MODE)
  const made = await copyAll(dataDir, partial, objects).catch((error: unknown) => {
    if (!(error instanceof OpenError)) throw error
    throw new CommandError(`${error.message}. No backup was made: keep the previous one`)
  })
  await rename(partial, target)
  await syncFolder(dirname(target))
  show({ folder: target, ...made }, json)
}

async function requireNothingIn(target: string): Promise<void> {
  const found = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOTDIR') throw new CommandError(`${target} is not a folder`)
    return unlessMissing(error)
  })
  if (found !== undefined && found.length > 0)
    throw new CommandError(`the folder is not empty: ${target}: name a new folder`)
}

/**
 * The order matters: what leaves the spool meanwhile is in the log, and what the log names is in the objects.
 */
async function copyAll(dataDir: string, to: string, withObjects: boolean) {
  const takenAt = toTimestamp(systemClock.nowMs())
  const [from, into] = [dataFiles(dataDir), dataFiles(to)]
  const copied = progress('bytes copied')
  const spool = await copySpool(from.spool, into.spool)
  let { bytes } = spool
  for (const { kept, sizeBytes } of spool.cut)
    note(
      `the spool ended in a damaged record of ${sizeBytes} bytes, kept as spool/${basename(kept)}: "tollgate spool list" shows what can be read of it`,
    )
  try {
    await copyLog(embeddedLogIn(dataDir), embeddedLogIn(to), copied.update)
    if (withObjects)
      for await (const size of copyObjects(from.objects, into.objects))
        copied.update((bytes += size))
  } finally {
    copied.end()
  }
  for (const [file, copy] of [
    [join(dataDir, 'version'), join(to, 'version')],
    [from.markerSecret, into.markerSecret],
    [from.demo, into.demo],
  ] as const)
    await copyIfThere(file, copy)
  const events = await eventsOf(embeddedLogIn(to))
  const damaged = spool.cut.length
  const about = {
    takenAt,
    events,
    withObjects,
    ...(damaged === 0 ? {} : { damagedSpoolRecords: damaged }),
  }
  await replaceFile(join(to, 'backup.json'), `${JSON.stringify(about, undefined, 2)}\n`)
  return about
}

/** Reads all of the copied log. @throws CommandError where it is damaged */
async function eventsOf(folder: string): Promise<number> {
  const read = progress('entries read')
  const { events, damaged, damagedInAll } = await verifyAll(folder, read.update)
  read.end()
  if (damagedInAll === 0) return events
  for (const what of damaged) note(what)
  throw new CommandError('the log is damaged, so no backup was made: keep the previous one')
}

/** Yields the size of each copied file. One that is purged meanwhile is left out. */
async function* copyObjects(from: string, to: string): AsyncGenerator<number, void> {
  const entries = await readdir(from, { withFileTypes: true }).catch(unlessMissing)
  if (entries === undefined) return
  await makeFolders(to, MODE)
  for (const entry of entries) {
    const [path, copy] = [join(from, entry.name), join(to, entry.name)]
    // Folders whose names begin with a dot have unfinished files.
    if (entry.isDirectory() && !entry.name.startsWith('.')) yield* copyObjects(path, copy)
    else if (entry.isFile()) yield await copyIfThere(path, copy)
  }
  await syncFolder(to)
}

async function copyIfThere(from: string, to: string): Promise<number> {
  return (await copyDurably(from, to).catch(unlessMissing)) ?? 0
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
