import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import * as fc from 'fast-check'
import t from 'tap'
import { logOutcomeUnknown, logUnavailable } from '../../../src/eventlog/log/errors.ts'
import type { Spool } from '../../../src/eventlog/journal/spool.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { startEventStore } from '../../helpers/eventstore.ts'
import { appendFaults, failDisk, faultyLog, type AppendFault } from '../support/faulty-log.ts'
import {
  journalOf,
  journalPlace,
  names,
  neverTakingOff,
  record,
  undrained,
} from '../support/journal-place.ts'
import { callFailed } from '../support/sample-events.ts'
import { until } from '../../helpers/eventually.ts'

const server = await startEventStore()
t.teardown(() => server.stop())

const SPOOL_AFTER_MS = 321
const limits = { spoolAfterMs: SPOOL_AFTER_MS, logRetryMs: 60_000 }

/** A log with a switch, and a record of who asked for appends: the journal or its drain. */
function switchedLog(log: EventLog) {
  const appends: { readonly byJournal: boolean; readonly events: number }[] = []
  let state: 'up' | 'away' | 'up for the journal' = 'up'
  let drainsLeft = Infinity
  let underWay = 0
  let mostUnderWay = 0
  const append: EventLog['append'] = async (stream, events, expected, options) => {
    const byJournal = options?.deadlineMs === SPOOL_AFTER_MS
    appends.push({ byJournal, events: events.length })
    if (state === 'away') throw logUnavailable('a switch of the test')
    if (byJournal) return log.append(stream, events, expected, options)
    if (state === 'up for the journal' || drainsLeft <= 0)
      throw logUnavailable('a switch of the test')
    drainsLeft -= 1
    underWay += 1
    mostUnderWay = Math.max(mostUnderWay, underWay)
    try {
      return await log.append(stream, events, expected, options)
    } finally {
      underWay -= 1
    }
  }
  return {
    log: { ...log, append },
    /** `drains`: so many appends of the drain are taken and no more. */
    turn: (to: typeof state, drains = Infinity) => {
      state = to
      drainsLeft = drains
    },
    byJournal: () => appends.filter((one) => one.byJournal).map(({ events }) => events),
    byDrain: () => appends.filter((one) => !one.byJournal).map(({ events }) => events),
    mostDrainsUnderWay: () => mostUnderWay,
  }
}

void t.test('once the log answers, new records are appended while spooled ones wait', async (t) => {
  const { log, spool, calls, streams } = await journalPlace(t, server)
  const switched = switchedLog(log)
  const journal = journalOf(switched.log, {
    spool: await spool('I'),
    instanceId: 'I',
    // A drained append for each batch: the second one does not get through.
    limits: { ...limits, maxDrainEvents: 1 },
  })
  await record(journal, 'call_0')
  switched.turn('away')
  for (const name of names(5, 1)) t.same(await record(journal, name), {})
  switched.turn('up', 1)
  await until(() => journal.spooled() === 4)
  const { position } = await record(journal, 'call_6')
  t.ok(position !== undefined, 'it is in the log')
  t.equal(journal.spooled(), 4, 'and nothing else moved')
  await record(journal, 'call_7')
  switched.turn('up')
  await until(() => journal.spooled() === 0)
  t.same([...(await calls())].sort(), names(8))
  t.same(await streams(), {
    'journal-I-0': 2,
    'journal-I-1': 4,
    'journal-I-2': 2,
  })
  t.equal(switched.mostDrainsUnderWay(), 1)
  await journal.close()
})

void t.test('no caller waits for a log that is known to be away', async (t) => {
  const { log, spool, calls } = await journalPlace(t, server)
  const switched = switchedLog(log)
  const journal = journalOf(switched.log, { spool: await spool('I'), limits })
  switched.turn('away')
  for (const name of names(20)) await record(journal, name)
  t.same(switched.byJournal(), [1], 'only the first one found out')
  switched.turn('up')
  await until(() => journal.spooled() === 0)
  await record(journal, 'call_20')
  t.same(switched.byJournal(), [1, 1])
  t.same(await calls(), names(21))
  await journal.close()
})

void t.test('a log that is known to be unhealthy gets no append', async (t) => {
  const { log, spool, calls } = await journalPlace(t, server)
  let healthy = false
  const switched = switchedLog({ ...log, healthy: () => healthy })
  switched.turn('away')
  const journal = journalOf(switched.log, { spool: await spool('I'), limits })
  await record(journal, 'call_0')
  t.same(switched.byJournal(), [])
  healthy = true
  t.ok((await record(journal, 'call_1').catch(() => undefined)) !== undefined)
  t.same(switched.byJournal(), [1], 'and is, once it is healthy')
  switched.turn('up')
  await until(() => journal.spooled() === 0)
  t.same(await calls(), names(2))
  await journal.close()
})

void t.test('many spooled batches are one append', async (t) => {
  const { log, spool, calls } = await journalPlace(t, server)
  const switched = switchedLog(log)
  switched.turn('away')
  const dying = journalOf(switched.log, { spool: undrained(await spool('I')), limits })
  for (const name of names(41)) await record(dying, name)
  switched.turn('up')
  const bounded = { ...limits, maxDrainEvents: 25 }
  const next = journalOf(switched.log, { spool: await spool('J'), limits: bounded })
  await until(() => next.spooled() === 0)
  t.same(switched.byDrain(), [1, 25, 15], 'the one that was sent is alone at its place')
  t.same(await calls(), names(41))
  await next.close()
})

void t.test('an append of spooled batches is bounded in bytes', async (t) => {
  const { log, spool, calls } = await journalPlace(t, server)
  const switched = switchedLog(log)
  switched.turn('away')
  const dying = journalOf(switched.log, { spool: undrained(await spool('I')), limits })
  const long = 'x'.repeat(2_000)
  for (const name of names(9)) await record(dying, name, callFailed(name, long))
  switched.turn('up')
  const bounded = { ...limits, maxDrainBytes: 12_000 }
  const next = journalOf(switched.log, { spool: await spool('J'), limits: bounded })
  await until(() => next.spooled() === 0)
  t.same(switched.byDrain(), [1, 4, 4])
  t.same(await calls(), names(9))
  await next.close()
})

void t.test('batches drained earlier in other groups are each in the log once', async (t) => {
  const { log, spool, calls, streams } = await journalPlace(t, server)
  const switched = switchedLog(log)
  switched.turn('away')
  const dying = journalOf(switched.log, {
    spool: undrained(await spool('I')),
    instanceId: 'I',
    limits,
  })
  for (const name of names(30)) await record(dying, name)
  switched.turn('up')
  // Each life dies after the append and before it takes anything off; each joins others.
  for (const [life, maxDrainEvents] of [7, 13, 4].entries()) {
    const whole = await spool(`J${life}`)
    const { spool: forgetful, takesOff } = neverTakingOff(whole)
    journalOf(switched.log, { spool: forgetful, limits: { ...limits, maxDrainEvents } })
    await takesOff
    // The first batch was sent before it was spooled and stays alone; then they are joined.
    const first = await whole.oldest(1)
    await first?.drop(life === 0 ? 1 : 0)
  }
  const last = journalOf(switched.log, { spool: await spool('K'), limits })
  await until(() => last.spooled() === 0)
  t.same(await calls(), names(30))
  t.same(await streams(), { 'journal-I-0': 1, 'journal-I-1': 29 })
  await last.close()
})

void t.test('a failing drain does not delay the journal', async (t) => {
  const { log, spool, calls } = await journalPlace(t, server)
  const switched = switchedLog(log)
  const journal = journalOf(switched.log, {
    spool: await spool('I'),
    limits: { ...limits, logRetryMs: 50 },
  })
  switched.turn('away')
  await record(journal, 'call_0')
  switched.turn('up for the journal')
  await sleep(60)
  const { position } = await record(journal, 'call_1')
  t.ok(position !== undefined)
  t.equal(journal.spooled(), 1)
  switched.turn('up')
  await until(() => journal.spooled() === 0)
  t.same(await calls(), ['call_1', 'call_0'])
  await journal.close()
})

void t.test('with a full disk, a log thought to be away is tried all the same', async (t) => {
  const { log, spool, calls } = await journalPlace(t, server)
  const full: Spool = {
    ...(await spool('I')),
    append: () => Promise.reject(new Error('ENOSPC: no space left on device')),
  }
  const journal = journalOf({ ...log, healthy: () => false }, { spool: full })
  await Promise.all(names(3).map((name) => record(journal, name)))
  t.same(await calls(), names(3))
  await journal.close()
})

void t.test('a spool at its bound refuses, and the caller gets an error', async (t) => {
  const { log, spool, calls } = await journalPlace(t, server)
  const switched = switchedLog(log)
  switched.turn('away')
  const journal = journalOf(switched.log, { spool: await spool('I', { maxBytes: 3_000 }), limits })
  const ends = await Promise.allSettled(names(10).map((name) => record(journal, name)))
  // All ten share one batch, which fits; the next one does not.
  t.ok(ends.every(({ status }) => status === 'fulfilled'))
  await t.rejects(record(journal, 'call_10'), { code: 'log_unavailable' })
  switched.turn('up')
  await until(() => journal.spooled() === 0)
  await record(journal, 'call_10')
  t.same(await calls(), names(11))
  await journal.close()
})

void t.test('a stop drains as much as it can', async (t) => {
  const { log, spool, spoolDirectory, calls } = await journalPlace(t, server)
  const switched = switchedLog(log)
  switched.turn('away')
  const one = journalOf(switched.log, { spool: await spool('I'), limits })
  for (const name of names(10)) await record(one, name)
  await one.close()
  t.ok((await readdir(spoolDirectory)).length > 0, 'nothing, while the log is away')
  switched.turn('up')
  const bounded = { ...limits, maxDrainEvents: 2 }
  const two = journalOf(switched.log, { spool: await spool('J'), limits: bounded })
  await two.close()
  t.same(await readdir(spoolDirectory), [], 'all of it, when it answers')
  t.same(await calls(), names(10))
})

/** Of a process: once it is dead, nothing it began comes to an end, and nothing more is begun. */
function mortal(log: EventLog, spool: Spool) {
  let dead = false
  const never = new Promise<never>(() => undefined)
  const unless = <T>(work: () => Promise<T>): Promise<T> =>
    dead ? never : work().then((result) => (dead ? never : result))
  return {
    die: () => void (dead = true),
    log: { ...log, append: (...of) => unless(() => log.append(...of)) } satisfies EventLog,
    spool: {
      ...spool,
      append: (batch) => unless(() => spool.append(batch)),
      oldest: async (maxBytes) => {
        const oldest = await unless(() => spool.oldest(maxBytes))
        return oldest && { ...oldest, drop: (count) => unless(() => oldest.drop(count)) }
      },
    } satisfies Spool,
  }
}

/** What befalls one life of the process. */
interface Life {
  readonly faults: readonly AppendFault[]
  readonly records: number
  readonly maxDrainEvents: number
  readonly livesMs: number
}

void t.test('processes that end at any moment: a durable record is in the log once', async (t) => {
  const { log, spool, calls } = await journalPlace(t, server)
  const durable = new Set<string>()
  const tried: string[] = []
  let lives = 0
  const aLife = fc.record({
    faults: fc.array(fc.constantFrom<AppendFault>(...appendFaults, 'unavailable'), {
      maxLength: 12,
    }),
    records: fc.nat(20),
    maxDrainEvents: fc.integer({ min: 1, max: 9 }),
    livesMs: fc.nat(60),
  })
  const live = async ({ faults, records, maxDrainEvents, livesMs }: Life) => {
    lives += 1
    const instanceId = `L${String(lives).padStart(4, '0')}`
    const faulty = faultyLog(log, faults)
    const one = mortal(faulty.log, await spool(instanceId, { segmentBytes: 2_000 }))
    const journal = journalOf(one.log, {
      spool: one.spool,
      instanceId,
      limits: { maxBatchEvents: 3, rotateAfterEvents: 7, maxDrainEvents, logRetryMs: 10 },
    })
    const mine = names(records, tried.length)
    tried.push(...mine)
    const making = (async () => {
      for (const name of mine) {
        await record(journal, name)
        durable.add(name)
      }
    })()
    await Promise.race([making, sleep(livesMs)])
    one.die()
    await faulty.settled()
  }
  await fc.assert(
    fc.asyncProperty(fc.array(aLife, { minLength: 1, maxLength: 5 }), async (several) => {
      for (const one of several) await live(one)
      lives += 1
      const last = journalOf(log, { spool: await spool(`L${String(lives).padStart(4, '0')}`) })
      await until(() => last.spooled() === 0)
      await last.close()
    }),
    { numRuns: 15 },
  )
  const written = await calls()
  t.equal(new Set(written).size, written.length, 'nothing is there twice')
  const there = new Set(written)
  t.same(
    [...durable].filter((name) => !there.has(name)),
    [],
    'nothing is lost',
  )
  t.comment(`${lives} lives, ${tried.length} records, ${durable.size} durable, ${there.size} there`)
  t.ok(durable.size > 0)
})

void t.test('a batch of unknown outcome is repeated at the same revision', async (t) => {
  const { log, spool, calls, streams } = await journalPlace(t, server)
  let first = true
  const append: EventLog['append'] = async (stream, events, expected, options) => {
    const result = await log.append(stream, events, expected, options)
    if (!first) return result
    first = false
    throw logOutcomeUnknown(stream, 1, 'its answer was lost')
  }
  const journal = journalOf({ ...log, append }, { spool: await spool('I'), instanceId: 'I' })
  for (const name of names(4)) await record(journal, name)
  await until(() => journal.spooled() === 0)
  t.same([...(await calls())].sort(), names(4))
  t.equal((await streams())['journal-I-0'], 1, 'its stream was left')
  await journal.close()
})

/** The spool cannot say whether it holds a record: what the next process finds there lands once. */
for (const log of ['answers', 'is away'] as const)
  void t.test(`a record that may be spooled is in the log once; it ${log}`, async (t) => {
    const place = await journalPlace(t, server)
    let state: 'up' | 'unhealthy' | 'away' = 'unhealthy'
    const append: EventLog['append'] = async (...args) => {
      if (state === 'away') throw logUnavailable('a switch of the test')
      return place.log.append(...args)
    }
    const switched = { ...place.log, append, healthy: () => state === 'up' }
    const dying = journalOf(switched, {
      spool: undrained(await place.spool('I')),
      instanceId: 'I',
      limits,
    })
    if (log === 'is away') state = 'away'
    const mend = await failDisk(t, ['datasync', 'truncate'])
    const recorded = record(dying, 'call_0')
    if (log === 'answers') t.ok((await recorded).position !== undefined, 'in the log')
    else await t.rejects(recorded, { code: 'log_outcome_unknown' })
    mend()
    state = 'up'
    await record(dying, 'call_1')

    // The process dies; the next one on this directory finds the record, or does not.
    const next = journalOf(place.log, { spool: await place.spool('J'), instanceId: 'J', limits })
    await until(() => next.spooled() === 0)
    t.same([...(await place.calls())].sort(), names(2), 'each once')
    await next.close()
  })

void t.test('a record that may be spooled survives an orderly stop', async (t) => {
  const place = await journalPlace(t, server)
  let away = true
  const append: EventLog['append'] = async (...args) => {
    if (away) throw logUnavailable('a switch of the test')
    return place.log.append(...args)
  }
  const journal = journalOf(
    { ...place.log, append, healthy: () => false },
    { spool: await place.spool('I'), instanceId: 'I', limits },
  )
  const mend = await failDisk(t, ['datasync', 'truncate'])
  await t.rejects(record(journal, 'call_0'), { code: 'log_outcome_unknown' })
  mend()
  away = false
  await journal.close()
  const next = journalOf(place.log, { spool: await place.spool('J'), instanceId: 'J', limits })
  await until(() => next.spooled() === 0)
  t.same(await place.calls(), names(1))
  await next.close()
})
