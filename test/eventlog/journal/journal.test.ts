import * as fc from 'fast-check'
import t from 'tap'
import type { CallEvent } from '../../../src/domain/call/events.ts'
import { createJournal } from '../../../src/eventlog/journal/journal.ts'
import type { Spool } from '../../../src/eventlog/journal/spool.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { startEventStore } from '../../helpers/eventstore.ts'
import { appendFaults, faultyLog, type AppendFault } from '../support/faulty-log.ts'
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

/** The same log, and how many events each append to it had. */
function countingLog(log: EventLog) {
  const sizes: number[] = []
  const append: EventLog['append'] = (stream, events, expected, options) => {
    sizes.push(events.length)
    return log.append(stream, events, expected, options)
  }
  return { counting: { ...log, append }, sizes }
}

void t.test('records that arrive during an append share the next one', async (t) => {
  const { log, calls } = await journalPlace(t, server)
  const { counting, sizes } = countingLog(log)
  const journal = journalOf(counting)
  const first = record(journal, 'call_0')
  await until(() => sizes.length === 1)
  const rest = names(50, 1).map((name) => record(journal, name))
  t.equal(journal.pending(), 51)
  const positions = await Promise.all([first, ...rest])
  t.same(sizes, [1, 50])
  t.ok(positions.every(({ position }) => position !== undefined))
  t.equal(journal.pending(), 0)
  t.same(await calls(), names(51))
  await journal.close()
})

void t.test('batches are bounded in count and bytes', async (t) => {
  const { log } = await journalPlace(t, server)
  const { counting, sizes } = countingLog(log)
  const few = journalOf(counting, { limits: { maxBatchEvents: 10 } })
  await Promise.all(names(25).map((name) => record(few, name)))
  t.same(sizes, [10, 10, 5])
  sizes.length = 0
  const small = journalOf(counting, { limits: { maxBatchBytes: 4_000 } })
  const long = 'x'.repeat(1_200)
  await Promise.all(names(5).map((name) => record(small, name, callFailed(name, long))))
  t.same(sizes, [2, 2, 1])
  await t.rejects(record(small, 'big', callFailed('big', 'x'.repeat(5_000))), {
    code: 'append_too_large',
  })
  await few.close()
  await small.close()
})

void t.test('a full queue refuses as log_unavailable', async (t) => {
  const { log, calls } = await journalPlace(t, server)
  const journal = journalOf(log, { limits: { maxQueuedEvents: 3 } })
  const results = await Promise.allSettled(names(10).map((name) => record(journal, name)))
  const refused = results.filter((result) => result.status === 'rejected')
  t.equal(refused.length, 7)
  t.ok(refused.every(({ reason }) => isDomainError(reason, 'log_unavailable')))
  t.same(await calls(), names(3))
  await journal.close()
})

void t.test('the journal rotates, each stream from revision 0', async (t) => {
  const { log, streams } = await journalPlace(t, server)
  const journal = journalOf(log, {
    instanceId: 'I',
    limits: { rotateAfterEvents: 10, maxBatchEvents: 4 },
  })
  for (const name of names(25)) await record(journal, name)
  t.same(await streams(), { 'journal-I-0': 10, 'journal-I-1': 10, 'journal-I-2': 5 })
  await journal.close()
})

void t.test('a record given twice is written once', async (t) => {
  const { log, calls } = await journalPlace(t, server)
  const journal = journalOf(log)
  const [one, two] = await Promise.all([record(journal, 'call_0'), record(journal, 'call_0')])
  t.same(one, two)
  t.same(await record(journal, 'call_0'), one)
  t.same(await calls(), ['call_0'])
  await journal.close()
})

void t.test('an invalid event is refused without its neighbours', async (t) => {
  const { log, calls } = await journalPlace(t, server)
  const journal = journalOf(log)
  const broken = { type: 'CallFailed', data: { callId: 'bad' } } as unknown as CallEvent
  const results = await Promise.allSettled([
    record(journal, 'call_0'),
    record(journal, 'bad', broken),
    record(journal, 'call_1'),
  ])
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.same(await calls(), names(2))
  await journal.close()
})

void t.test('a closed journal has flushed and refuses', async (t) => {
  const { log, calls } = await journalPlace(t, server)
  const journal = journalOf(log)
  const recorded = names(20).map((name) => record(journal, name))
  await journal.close()
  t.equal((await Promise.all(recorded)).length, 20)
  t.same(await calls(), names(20))
  await t.rejects(record(journal, 'late'), { code: 'log_unavailable' })
})

void t.test('records without log and spool are refused, then accepted', async (t) => {
  const { log, calls } = await journalPlace(t, server)
  const { log: faulty } = faultyLog(log, ['none', 'unavailable', 'lose-ack', 'none'])
  const journal = journalOf(faulty)
  await record(journal, 'call_0')
  await t.rejects(record(journal, 'call_1'), { code: 'log_unavailable' })
  await t.rejects(record(journal, 'call_2'), { code: 'log_outcome_unknown' })
  await record(journal, 'call_3')
  t.same(await calls(), ['call_0', 'call_2', 'call_3'])
  await journal.close()
})

void t.test(
  'a log killed after the provider’s success: spooled, then drained in order',
  async (t) => {
    const { log, spool, calls } = await journalPlace(t, server)
    const outcomes: string[] = []
    const journal = createJournal({
      log,
      instanceId: 'I',
      logger: silentLog,
      spool: await spool('I'),
      observer: { batch: ({ outcome }) => outcomes.push(outcome) },
      limits: { spoolAfterMs: 300 },
    })
    await Promise.all(names(5).map((name) => record(journal, name)))
    await server.kill9()
    await Promise.all(names(5, 5).map((name) => record(journal, name)))
    await Promise.all(names(5, 10).map((name) => record(journal, name)))
    t.same(outcomes, ['log', 'spool', 'spool'])
    t.equal(journal.spooled(), 2)
    await server.restart()
    await until(() => journal.spooled() === 0)
    await record(journal, 'call_15')
    t.same(await calls(), names(16))
    await journal.close()
  },
)

void t.test('a process that dies with a spool: the next one drains it exactly once', async (t) => {
  const { log, spool, calls, streams } = await journalPlace(t, server)
  const { log: faulty } = faultyLog(log, ['none', 'lose-ack', 'unavailable', 'unavailable'])
  const dying = journalOf(faulty, { spool: undrained(await spool('I')), instanceId: 'I' })
  for (const name of names(4)) await record(dying, name)
  t.equal(dying.spooled(), 3)
  t.same(await calls(), names(2), 'the lost answer was an append that landed')

  // The next one dies between the append and taking the batch off; the one after finishes.
  const { spool: forgetful, takesOff } = neverTakingOff(await spool('J'))
  journalOf(log, { spool: forgetful, instanceId: 'J' })
  await takesOff
  const third = journalOf(log, { spool: await spool('K'), instanceId: 'K' })
  await until(() => third.spooled() === 0)
  t.same(await calls(), names(4))
  t.same(await streams(), { 'journal-I-0': 2, 'journal-I-1': 2 })
  await third.close()
})

void t.test(
  'a spooled batch whose revision is taken lands in a separate stream, once',
  async (t) => {
    const { log, spool, calls } = await journalPlace(t, server)
    const lost = await spool('I')
    const { log: away } = faultyLog(log, ['unavailable', 'unavailable'])
    const dying = journalOf(away, { spool: undrained(lost), instanceId: 'I' })
    await record(dying, 'call_0')
    await record(dying, 'call_1')
    // Somebody else took the place: the first batch cannot go where it was meant to.
    const thief = journalOf(log, { instanceId: 'I' })
    await record(thief, 'call_9')
    for (const instanceId of ['J', 'K']) {
      const next = journalOf(log, { spool: await spool(instanceId), instanceId })
      await until(() => next.spooled() === 0)
      await next.close()
    }
    t.same([...(await calls())].sort(), ['call_0', 'call_1', 'call_9'])
  },
)

void t.test('a record refused with log away and disk full is never written twice', async (t) => {
  const { log, spool, calls } = await journalPlace(t, server)
  const full: Spool = {
    ...(await spool('I')),
    append: () => Promise.reject(new Error('ENOSPC: no space left on device')),
  }
  const { log: faulty } = faultyLog(log, ['none', 'lose-ack', 'unavailable', 'none'])
  const journal = journalOf(faulty, { spool: full })
  await record(journal, 'call_0')
  await t.rejects(record(journal, 'call_1'), { code: 'log_outcome_unknown' })
  await t.rejects(record(journal, 'call_2'), { code: 'log_unavailable' })
  await record(journal, 'call_3')
  t.same(await calls(), ['call_0', 'call_1', 'call_3'])
  await journal.close()
})

void t.test('for any faults of the appends, every record is in the log exactly once', async (t) => {
  const { log, spool, calls } = await journalPlace(t, server)
  const expected: string[] = []
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom<AppendFault>(...appendFaults), { maxLength: 10 }),
      fc.integer({ min: 1, max: 12 }),
      async (faults, count) => {
        runs += 1
        const instanceId = `P${runs}`
        const faulty = faultyLog(log, faults)
        const journal = journalOf(faulty.log, {
          spool: await spool(instanceId),
          instanceId,
          limits: { maxBatchEvents: 3, rotateAfterEvents: 5 },
        })
        const mine = names(count, expected.length)
        expected.push(...mine)
        for (const [index, name] of mine.entries())
          if (index % 3 === 0) await record(journal, name)
          else void record(journal, name)
        if (!(await journal.flush(10_000))) throw new Error('not flushed')
        await until(() => journal.spooled() === 0)
        await faulty.settled()
        await journal.close()
      },
    ),
    { numRuns: 25 },
  )
  t.same([...(await calls())].sort(), [...expected].sort())
})
