import type { Command } from 'commander'
import { readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { copyLog } from '../../infra/embedded/eventstore/copy.ts'
import { OpenError } from '../../infra/embedded/eventstore/types.ts'
import { verifyAll } from '../../infra/embedded/eventstore/verify.ts'
import { dataFiles, loadConfig } from '../config.ts'
import { copySpool } from '../eventlog/journal/copy-spool.ts'
import { systemClock, toTimestamp } from '../kernel/clock.ts'
import { copyDurably, makeFolders, replaceFile, syncFolder } from '../kernel/durable-files.ts'
import { CommandError, note, progress, show } from './output.ts'
import { embeddedLogIn } from './stores.ts'
import { JSON_OPTION } from './command.ts'

const BACKUP_HELP = `
Copies what the embedded installation cannot make again into a new folder, also while the gateway runs: the event log,
the spool, objects and the secret. Postgres is not copied: a gateway that starts on the copy builds it from the log. All of the
copied log is read with its checksums. The folder has its name only once it is whole; an interrupted backup is
made from the beginning by the same command.

To restore, copy the folder to where DATA_DIR is to be, and start the gateway there: docs/backup.md.`

/** Registers `tollgate backup`. */
export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('copy what cannot be made again into a new folder, also while the gateway runs')
    .argument('<folder>', 'a new folder, outside of DATA_DIR')
    .option('--no-objects', 'without uploads and results')
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
      'the event store and Postgres have backups of their own: docs/backup.md says in which order to make them',
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
    throw new CommandError(`${error.message}. There is no backup of it: keep the one before`)
  })
  await rename(partial, target)
  await syncFolder(dirname(target))
  show({ folder: target, ...made }, json)
}

async function requireNothingIn(target: string): Promise<void> {
  const found = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOTDIR') throw new CommandError(`${target} is no folder`)
    return unlessMissing(error)
  })
  if (found !== undefined && found.length > 0)
    throw new CommandError(`there is something in ${target}: name a new folder`)
}

/**
 * The order matters: what leaves the spool meanwhile is in the log, and what the log names is in the objects.
 */
async function copyAll(dataDir: string, to: string, withObjects: boolean) {
  const takenAt = toTimestamp(systemClock.nowMs())
  const [from, into] = [dataFiles(dataDir), dataFiles(to)]
  const copied = progress('bytes copied')
  let bytes = await copySpool(from.spool, into.spool)
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
  const about = { takenAt, events, withObjects }
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
  throw new CommandError('the log is damaged, so there is no backup of it: keep the one before')
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
