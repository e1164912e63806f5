import t from 'tap'
import {
  createForeseeingLook,
  createLaneLook,
  earliestDue,
} from '../../../src/app/queue/lane-look.ts'
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
