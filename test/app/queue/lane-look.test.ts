import t from 'tap'
import {
  createForeseeingLook,
  createLaneLook,
  earliestDue,
} from '../../../src/app/queue/lane-look.ts'
import { createPresence } from '../../../src/app/queue/presence.ts'
import { createKnownEmpty, SeenModels } from '../../../src/app/queue/seen-models.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { startWork, work } from './support/work.ts'

const NOW = 1_000_000
const FORESEEN_MS = 2_000

/** A look over real rows that notes the lanes of each ask; its monotonic time stands until it is set. */
async function looking(t: Parameters<typeof startWork>[0], jobs: Readonly<Record<string, number>>) {
  const started = await startWork(t, jobs)
  const asks: (readonly string[])[] = []
  const time = { ms: 0 }
  const find = (lanes: readonly string[]) => {
    asks.push(lanes)
    return earliestDue(started.pool, work, lanes)
  }
  const look = createForeseeingLook(find, FORESEEN_MS, { nowMs: () => time.ms })
  return { ...started, asks, time, look, find }
}

t.test('lanes that ask in one turn share a statement', async (t) => {
  const { add, asks, find } = await looking(t, { job: NOW })
  await add('later', NOW + 1, 'b')
  const hasDue = createLaneLook(find)
  const lanes = ['a', 'b', 'none']
  t.same(await Promise.all(lanes.map((lane) => hasDue(lane, NOW))), [true, false, false])
  t.same(asks, [lanes])
  t.equal(await hasDue('b', NOW + 1), true, 'each ask is a new look')
})

t.test('a lane is not asked again before its earliest job is due', async (t) => {
  const { asks, look } = await looking(t, { first: NOW + 500, second: NOW + 900 })
  t.equal(await look.hasDue('a', NOW), false)
  t.equal(await look.hasDue('a', NOW + 499), false)
  t.equal(asks.length, 1)
  t.equal(await look.hasDue('a', NOW + 500), true)
  t.equal(await look.hasDue('a', NOW + 500), true, 'while it has due work, it is asked each time')
  t.equal(asks.length, 3)
})

t.test('what another process makes is seen once the answer is too old', async (t) => {
  const { add, asks, look, time } = await looking(t, {})
  t.equal(await look.hasDue('a', NOW), false)
  await add('job', NOW)
  time.ms = FORESEEN_MS - 1
  t.equal(await look.hasDue('a', NOW), false)
  t.equal(asks.length, 1)
  time.ms = FORESEEN_MS
  t.equal(await look.hasDue('a', NOW), true)
})

t.test('what this process expects is looked for each time, for a while', async (t) => {
  const { add, asks, look, time } = await looking(t, {})
  t.equal(await look.hasDue('a', NOW), false)
  look.expect()
  t.equal(await look.hasDue('a', NOW), false)
  time.ms = 1_999
  await add('job', NOW)
  t.equal(await look.hasDue('a', NOW), true)
  t.equal(await look.hasDue('b', NOW), false)
  time.ms = 2_000
  t.equal(await look.hasDue('b', NOW), false)
  t.equal(asks.length, 4, 'an answer counts again after that')
})

t.test('a lane without jobs is not asked again until an event moves its read model', async (t) => {
  const { add, asks, time, find, pool } = await looking(t, {})
  await pool.query(`create schema engine;
    create table engine.checkpoints (name text primary key, position bigint);
    insert into engine.checkpoints values ('work', 5), ('other', 5)`)
  const clock = { nowMs: () => time.ms }
  const models = new SeenModels(clock)
  const logger = silentLog
  const presence = createPresence({ pool, clock, monotonic: clock, logger, models }, 'me', [work])
  const look = createForeseeingLook(find, 0, clock, createKnownEmpty(models, 'work', clock))
  const asksOf = async (expected: boolean): Promise<number> => {
    const before = asks.length
    t.equal(await look.hasDue('a', NOW), expected)
    return asks.length - before
  }
  await asksOf(false)
  t.equal(await asksOf(false), 1, 'no heartbeat has seen the read model')
  await presence.round()
  t.equal(await asksOf(false), 1)
  t.equal(await asksOf(false), 0)
  look.expect()
  t.equal(await asksOf(false), 1, 'a job is expected')
  time.ms += 2_000
  t.equal(await asksOf(false), 0)
  time.ms += 1_000
  t.equal(await asksOf(false), 1, 'no heartbeat of late')
  await presence.round()
  await asksOf(false)
  for (const _second of [1, 2, 3, 4, 5, 6, 7, 8, 9]) {
    time.ms += 1_000
    await pool.query(`update engine.checkpoints set position = position + 1 where name = 'other'`)
    await presence.round()
    t.equal(await asksOf(false), 0)
  }
  time.ms += 1_000
  t.equal(await asksOf(false), 1, 'after ten seconds, whatever was seen')
  await add('job', NOW)
  await pool.query(`update engine.checkpoints set position = position + 1 where name = 'work'`)
  await presence.round()
  t.equal(await asksOf(true), 1)
  t.equal(await asksOf(true), 1, 'while it has jobs, it is asked each time')
})

t.test('a failed ask is not remembered', async (t) => {
  let fails = true
  const look = createForeseeingLook(
    () => (fails ? Promise.reject(new Error('down')) : Promise.resolve(new Map([['a', NOW]]))),
    FORESEEN_MS,
    { nowMs: () => 0 },
  )
  await t.rejects(look.hasDue('a', NOW), /down/)
  fails = false
  t.equal(await look.hasDue('a', NOW), true)
})
