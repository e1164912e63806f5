import { spawnSync } from 'node:child_process'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { copyLog } from '../../../../infra/embedded/eventstore/copy.ts'
import { ServerLog } from '../../../../infra/embedded/eventstore/log.ts'
import { OpenError } from '../../../../infra/embedded/eventstore/types.ts'
import { verifyAll } from '../../../../infra/embedded/eventstore/verify.ts'
import { append, copied, EVENTS, eventsOf, makeLog, root } from './support/small-log.ts'

const ROUNDS = 5
/** Enough for a file of writes to become a table. */
const EVENTS_A_ROUND = 250

const nothing = (): void => undefined
const killed = await makeLog(t)

t.test('a log at rest is copied completely and unchanged', async (t) => {
  const to = join(root, 'copy-at-rest')
  const shown: number[] = []
  await copyLog(killed, to, (bytes) => shown.push(bytes))
  t.ok(shown.length >= 2 && shown.every((bytes, index) => bytes >= (shown[index - 1] ?? 0)))
  t.match(await verifyAll(to, nothing), { events: EVENTS, damagedInAll: 0 })
  const [copy, source] = [await ServerLog.open(to), await ServerLog.open(killed)]
  t.same(await eventsOf(copy), await eventsOf(source))
  await copy.close()
  await source.close()
})

t.test('copies made under load are complete up to a moment', async (t) => {
  const dir = join(root, 'busy')
  const log = await ServerLog.open(dir)
  const acknowledged = { count: 0 }
  const state = { isOver: false, isReading: false }
  /** Values that do not compress: files are written and joined to others all the time. */
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; !state.isOver; n += 1) {
      const command = append(`writer-${writer}`, writer * 1_000_000 + n)
      const data = Buffer.from(JSON.stringify({ n, text: randomText(16_000) }))
      const events =
        command.kind === 'append' ? command.events.map((one) => ({ ...one, data })) : []
      await log.submit({ ...command, events } as typeof command)
      acknowledged.count += 1
      // While a copy is read, the log need not grow.
      while (state.isReading) await sleep(5)
    }
  }
  const writers = [0, 1, 2, 3].map(write)
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const to = join(root, `copy-${round}`)
      state.isReading = false
      const enough = acknowledged.count + EVENTS_A_ROUND
      while (acknowledged.count < enough) await sleep(5)
      const before = acknowledged.count
      await copyLog(dir, to, nothing)
      const after = acknowledged.count
      state.isReading = true
      const { events, damaged } = await verifyAll(to, nothing)
      t.same(damaged, [], `round ${round}`)
      t.ok(events >= before && events <= after + writers.length, `${before} ≤ ${events} ≤ ${after}`)
      t.same(
        (await readdir(root)).filter((name) => name.startsWith(`copy-${round}.`)),
        [],
      )
      await rm(to, { recursive: true })
    }
  } finally {
    state.isOver = true
    state.isReading = false
    await Promise.all(writers)
    await log.close()
  }
  t.ok(acknowledged.count > 100, `${acknowledged.count} events`)
})

let seed = 1
function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    seed = (seed * 48_271) % 2_147_483_647
    text += seed.toString(36)
  }
  return text.slice(0, length)
}

t.test('the leftovers of a killed copy are removed by the next copy', async (t) => {
  const dir = await copied(killed, 'left')
  const ended = spawnSync(process.execPath, ['--version'])
  const left = join(dir, `copying-${ended.pid}`)
  await mkdir(left)
  await writeFile(join(left, '000009.ldb'), 'a second name of a table')
  await copyLog(dir, join(root, 'left-copy'), nothing)
  t.same(await readdir(dir), ['db'])
})

t.test('damage is named, not copied', async (t) => {
  const refused = async (name: string, harm: (db: string) => Promise<void>, words: RegExp) => {
    const dir = await copied(killed, name)
    await harm(join(dir, 'db'))
    const outcome = await copyLog(dir, join(root, `${name}-copy`), nothing).catch(
      (error: unknown) => error,
    )
    t.ok(outcome instanceof OpenError, name)
    t.match(outcome, { message: words })
  }
  await refused('no-pointer', async (db) => rm(join(db, 'CURRENT')), /there is no log/)
  await refused(
    'no-table',
    async (db) => {
      const [table = ''] = (await readdir(db)).filter((one) => one.endsWith('.ldb'))
      await rm(join(db, table))
    },
    /lacks a file/,
  )
})
