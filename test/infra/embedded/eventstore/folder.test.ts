import { readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import t from 'tap'
import { ServerLog } from '../../../../infra/embedded/eventstore/log.ts'
import { OpenError } from '../../../../infra/embedded/eventstore/types.ts'
import { verifyAll } from '../../../../infra/embedded/eventstore/verify.ts'
import { type Dice, dice as diceOf } from '../../../faults/driver/random.ts'
import { propertyRuns } from '../../../helpers/property-runs.ts'
import { copied, EVENTS, eventsOf, makeLog, root, sha256 } from './support/small-log.ts'

/**
 * Whatever happened to the files of a log that lies still, a start gives exactly the events that were there
 * or says what is damaged; nothing of it is deleted.
 */

const TRIES = propertyRuns(300)

const killed = await makeLog(t)

/** Not the notes of LevelDB itself. */
const isData = (name: string): boolean => !/^(?:LOG|LOG\.old|LOCK)$/.test(name)

async function filesOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(folder)).filter(isData)
  const files = names.map(
    async (name) => [name, sha256(await readFile(join(folder, name)))] as const,
  )
  return new Map(await Promise.all(files))
}

/** What may happen to a file. */
type Harm = (path: string, dice: Dice) => Promise<void>
const harms: Readonly<Record<string, Harm>> = {
  gone: (path) => rm(path),
  emptied: (path) => truncate(path, 0),
  cut: async (path, dice) => truncate(path, dice.integer(0, (await stat(path)).size)),
  flipped: async (path, dice) => {
    const bytes = await readFile(path)
    const at = dice.integer(0, bytes.length - 1)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << dice.integer(0, 7))
    await writeFile(path, bytes)
  },
  lengthened: async (path) => writeFile(path, Buffer.alloc(100), { flag: 'a' }),
  renamed: (path) => rename(path, `${path}.old`),
}

t.test('a log at rest is read completely, or its damage is named', async (t) => {
  const before = await ServerLog.open(await copied(killed, 'check'))
  const whole = await eventsOf(before)
  t.equal(whole.length, EVENTS)
  await before.close()

  const seen = new Map<string, number>()
  for (let seed = 0; seed < TRIES; seed += 1) {
    const dice = diceOf(String(seed))
    const dir = await copied(killed, `try-${seed}`)
    const db = join(dir, 'db')
    const name = dice.pick((await readdir(db)).filter(isData).toSorted())
    // An empty file of writes is one that nothing was written to: that the log ends too early is found
    // where it is compared with the read models.
    const kinds = Object.keys(harms).filter(
      (kind) => !(name.endsWith('.log') && kind === 'emptied'),
    )
    const kind = dice.pick(kinds)
    await harms[kind]?.(join(db, name), dice)
    const what = `seed ${seed}: ${name} ${kind}`
    const files = await filesOf(db)
    const outcome = await opened(dir)
    if ('damaged' in outcome) {
      t.match(outcome.damaged, { code: 'damaged' }, what)
      t.ok((await verifyAll(dir, () => undefined)).damagedInAll > 0, `${what}: verify-log finds it`)
    } else if ('refused' in outcome) {
      t.ok(outcome.refused instanceof OpenError, `${what}: ${String(outcome.refused)}`)
      const now = await filesOf(db)
      // A changed byte in a table is met when it is read: what was written last is in a table by then.
      if (name.endsWith('.ldb') && kind === 'flipped') t.equal(now.get(name), files.get(name), what)
      else t.same(now, files, `${what}: nothing was changed`)
    } else {
      const { events, reports } = outcome
      t.same(events, whole.slice(0, events.length), what)
      const isWhole = events.length === whole.length
      t.ok(isWhole || reports.length > 0, `${what}: ${events.length} events, and not a word`)
      for (const report of reports) await isKept(files, report)
    }
    const named = 'damaged' in outcome ? 'named when it is read' : 'refused'
    const result = 'events' in outcome ? `given, ${outcome.reports.length} kept` : named
    seen.set(result, (seen.get(result) ?? 0) + 1)
    await rm(dir, { recursive: true, force: true })
  }
  t.comment(JSON.stringify(Object.fromEntries(seen)))
  t.ok((seen.get('refused') ?? 0) > 20)
  t.ok((seen.get('given, 1 kept') ?? 0) > 5)

  /** The folder that a report names has the file as it was. */
  async function isKept(files: ReadonlyMap<string, string>, report: string): Promise<void> {
    const folder = / (\S+\.corrupt-[0-9a-f]{12}) keeps it/.exec(report)?.[1] ?? ''
    const kept = await filesOf(folder)
    t.ok(kept.size > 0, report)
    for (const [file, hash] of kept) t.equal(hash, files.get(file), `${basename(folder)}/${file}`)
  }
})

async function opened(
  dir: string,
): Promise<
  | { readonly refused: unknown }
  | { readonly damaged: unknown }
  | { readonly events: readonly string[]; readonly reports: readonly string[] }
> {
  const reports: string[] = []
  let log: ServerLog
  try {
    log = await ServerLog.open(dir, (_event, detail) => reports.push(detail), { deeply: true })
  } catch (refused) {
    return { refused }
  }
  try {
    return { events: await eventsOf(log), reports }
  } catch (damaged) {
    return { damaged }
  } finally {
    await log.close()
  }
}

t.test('a folder whose first start was interrupted is started as new', async (t) => {
  const dir = join(root, 'begun')
  await (await ServerLog.open(dir)).close()
  const db = join(dir, 'db')
  for (const name of await readdir(db)) if (!name.startsWith('MANIFEST')) await rm(join(db, name))
  for (const name of await readdir(db)) await truncate(join(db, name), 20)
  const log = await ServerLog.open(dir)
  t.same(await eventsOf(log), [])
  await log.close()
})

t.test('the unfinished files of a killed process are not damage', async (t) => {
  const dir = await copied(killed, 'unfinished')
  await writeFile(join(dir, 'db', '000099.ldb'), 'the first bytes of a table')
  await writeFile(join(dir, 'db', '000002.log'), 'a log that is in tables')
  const reports: string[] = []
  const log = await ServerLog.open(dir, (_event, detail) => reports.push(detail))
  t.equal((await eventsOf(log)).length, EVENTS)
  t.same(reports, [])
  await log.close()
})
