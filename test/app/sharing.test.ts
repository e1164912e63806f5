import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createSharedCatchUp } from '../../src/app/access/catch-up.ts'
import { createSingleFlight } from '../../src/platform/single-flight.ts'
import { createBackgroundAppends } from '../../src/app/tasks/background-appends.ts'
import { createRecentWrites } from '../../src/app/access/recent-writes.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { DomainError } from '../../src/kernel/errors.ts'
import { silentLog } from '../../src/kernel/log.ts'

t.test('calls for one key that overlap share one run and its failure', async (t) => {
  const flight = createSingleFlight<number>()
  let runs = 0
  const work = async (): Promise<number> => {
    runs += 1
    await sleep(5)
    if (runs === 2) throw new Error('second run')
    return runs
  }
  t.same(await Promise.all([flight.run('a', work), flight.run('a', work)]), [1, 1])
  const both = await Promise.allSettled([flight.run('a', work), flight.run('a', work)])
  t.same(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  t.equal(runs, 2)
  t.equal(flight.size(), 0)
})

t.test('a caller that asks for a catch-up gets one that began afterwards', async (t) => {
  const begun: number[] = []
  let asked = 0
  const catchUp = createSharedCatchUp(async () => {
    begun.push(asked)
    await sleep(10)
  })
  const ask = (): Promise<void> => {
    asked += 1
    return catchUp()
  }
  await Promise.all([ask(), ask(), ask(), ask()])
  t.same(begun, [1, 4], 'the first at once, the others together after it')
})

t.test('a failed catch-up fails the callers that shared it and no later caller', async (t) => {
  let runs = 0
  const catchUp = createSharedCatchUp(async () => {
    runs += 1
    if (runs === 1) throw new Error('behind')
  })
  await t.rejects(catchUp(), /behind/)
  await catchUp()
  t.equal(runs, 2)
})

t.test('a tenant’s reads wait for the last of its writes until it is projected', async (t) => {
  const recent = createRecentWrites()
  recent.note('a', 5n)
  recent.note('a', 3n)
  recent.note('a', undefined)
  t.equal(recent.of('a'), 5n)
  t.equal(recent.of('b'), undefined)
  recent.projected('a', 4n)
  t.equal(recent.of('a'), 5n)
  recent.projected('a', 5n)
  t.equal(recent.of('a'), undefined)
})

t.test('an outage is retried, a refusal is not', async (t) => {
  const background = createBackgroundAppends({ clock: systemClock, logger: silentLog })
  let tries = 0
  background.keepTrying('outage', 'video_1', async () => {
    tries += 1
    if (tries < 2) throw new DomainError('log_unavailable', 'away', {})
  })
  let refusals = 0
  background.keepTrying('refusal', 'video_2', async () => {
    refusals += 1
    throw new DomainError('task_state_conflict', 'no', {})
  })
  const untilMs = Date.now() + 10_000
  while (background.pending() > 0 && Date.now() < untilMs) await sleep(20)
  t.equal(tries, 2)
  t.equal(refusals, 1)
  await background.stop()
  t.equal(
    background.keepTrying('late', 'video_3', async () => undefined),
    false,
    'nothing begins after the stop',
  )
})
