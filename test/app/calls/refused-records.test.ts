import { appendFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  listRefused,
  retryRefused,
  writeOffRefused,
  type RefusedRecord,
} from '../../../src/app/calls/refused-records.ts'
import { journalStream } from '../../../src/domain/call/events.ts'
import { createSetAsideCount } from '../../../src/eventlog/journal/set-aside.ts'
import { encodeRecord, type PlacedBatch } from '../../../src/eventlog/journal/spool-record.ts'
import { appendTooLarge, logUnavailable } from '../../../src/eventlog/log/errors.ts'
import type { EventLog, NewEvent } from '../../../src/eventlog/log/types.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { eventId } from '../../../src/kernel/ids.ts'
import { startEventStore } from '../../helpers/eventstore.ts'
import { until } from '../../helpers/eventually.ts'
import {
  journalOf,
  journalPlace,
  names,
  type JournalPlace,
} from '../../eventlog/support/journal-place.ts'
import { callFailed, metadataOf } from '../../eventlog/support/sample-events.ts'

const server = await startEventStore()
t.teardown(() => server.stop())

const SPOOL_FILE = 'I-000001.spool'

const labels = { tags: { project: 'apollo' }, endUser: 'ann' }

function eventOf(callId: string): NewEvent {
  const event = callFailed(callId)
  Object.assign(event.data, labels)
  return { ...event, id: eventId('journal', callId, 0), metadata: metadataOf(callId) }
}

function batchOf(callIds: readonly string[], stream = journalStream('I', 0)): PlacedBatch {
  return { stream, expected: 'no_stream', events: callIds.map(eventOf) }
}

/** A log that refuses appends with an event of these calls as too large, wherever they go. */
function refusing(log: EventLog) {
  const refused = new Set<string>()
  const append: EventLog['append'] = async (stream, events, ...rest) => {
    const isRefused = events.some(
      (event) => event.type === 'CallFailed' && refused.has(event.data.callId),
    )
    if (isRefused) throw appendTooLarge(stream, 2 << 20, 1 << 20)
    return log.append(stream, events, ...rest)
  }
  return { refused, log: { ...log, append } satisfies EventLog }
}

/** A process finds these batches in its spool; it ends once it has drained them. */
async function drained(place: JournalPlace, log: EventLog, instanceId: string): Promise<void> {
  const journal = journalOf(log, { spool: await place.spool(instanceId), instanceId })
  await until(() => journal.spooled() === 0)
  await journal.close()
}

async function spooled(place: JournalPlace, batches: readonly PlacedBatch[]): Promise<void> {
  const records = batches.map((batch) => encodeRecord(batch, 1_000))
  await writeFile(join(place.spoolDirectory, SPOOL_FILE), Buffer.concat(records))
}

/** Calls that the log refused for good, as a drain left them. */
async function startRefused(t: Test, callIds: readonly string[]) {
  const place = await journalPlace(t, server)
  const { log, refused } = refusing(place.log)
  for (const callId of callIds) refused.add(callId)
  await spooled(
    place,
    callIds.map((callId, n) => batchOf([callId], journalStream('I', n))),
  )
  await drained(place, log, 'J')
  const directory = place.spoolDirectory
  const deps = { log, directory, clock: systemClock, actor: 'Ada L.' }
  const listed = async (): Promise<readonly string[]> =>
    (await listRefused(directory)).map(({ event }) => event.data.callId)
  const refusedOf = async (callId: string): Promise<RefusedRecord> => {
    const found = (await listRefused(directory)).find(({ event }) => event.data.callId === callId)
    if (found === undefined) throw new Error(`${callId} is not listed`)
    return found
  }
  const writtenOff = async (): Promise<readonly unknown[]> => {
    const events: unknown[] = []
    for await (const { type, data, metadata } of place.log.readAll())
      if (type === 'CallWrittenOff') events.push({ ...data, actor: metadata.actor })
    return events
  }
  return { place, log, refused, directory, deps, listed, refusedOf, writtenOff }
}

t.test('a batch that the log refuses for good is set aside, and later ones land', async (t) => {
  const place = await journalPlace(t, server)
  const { log, refused } = refusing(place.log)
  refused.add('call_1')
  await spooled(
    place,
    names(3).map((name, n) => batchOf([name], journalStream('I', n))),
  )
  const setAside = createSetAsideCount(place.spoolDirectory)
  const count = async () => (await setAside()).refused
  t.equal(await count(), 0)
  await drained(place, log, 'J')
  t.same(await place.calls(), ['call_0', 'call_2'])
  t.equal(await count(), 1)
  t.match(await listRefused(place.spoolDirectory), [
    { event: { data: { callId: 'call_1' } }, isBegun: false },
  ])
})

t.test('a batch that lost its place and is then refused delays no later batch', async (t) => {
  const place = await journalPlace(t, server)
  const { log, refused } = refusing(place.log)
  await place.log.append(journalStream('I', 0), [eventOf('call_other')], 'no_stream')
  const append: EventLog['append'] = async (stream, events, ...rest) =>
    stream === journalStream('I', 0)
      ? place.log.append(stream, events, ...rest)
      : log.append(stream, events, ...rest)
  refused.add('call_0')
  await spooled(place, [batchOf(['call_0']), batchOf(['call_1'], journalStream('I', 1))])
  await drained(place, { ...log, append }, 'J')
  t.same(await place.calls(), ['call_other', 'call_1'])
  t.match(await listRefused(place.spoolDirectory), [{ event: { data: { callId: 'call_0' } } }])
})

t.test('a batch that was set aside twice is listed once, by its events', async (t) => {
  const place = await journalPlace(t, server)
  const { log, refused } = refusing(place.log)
  refused.add('call_1')
  for (const life of ['J', 'K']) {
    await spooled(place, [batchOf(names(3))])
    await drained(place, log, life)
  }
  const items = await listRefused(place.spoolDirectory)
  t.same(
    items.map(({ event }) => event.data.callId),
    names(3),
  )
})

t.test('a refused batch stays listed on retry, and is settled once when accepted', async (t) => {
  const { place, refused, deps, listed, refusedOf } = await startRefused(t, names(2))
  t.match(await retryRefused(deps, await refusedOf('call_0')), {
    kind: 'refused',
    reason: /larger|bytes/,
  })
  t.same(await listed(), names(2))
  refused.clear()
  const first = await refusedOf('call_0')
  t.same(await retryRefused(deps, first), { kind: 'settled', before: false })
  t.same(await retryRefused(deps, first), { kind: 'settled', before: true })
  t.same(await listed(), ['call_1'])
  t.same(await place.calls(), ['call_0'])
  t.match(await writeOffRefused(deps, first, 'too late'), { kind: 'settled', before: true })
  await t.resolveMatch(listed(), ['call_1'], 'nothing was given up')
})

t.test('a write-off is one event with the actor, the reason and the settlement', async (t) => {
  const { place, refused, deps, listed, refusedOf, writtenOff } = await startRefused(t, names(1))
  const found = await refusedOf('call_0')
  t.match(await writeOffRefused(deps, found, 'agreed with the tenant'), {
    kind: 'written_off',
    before: false,
  })
  t.match(await writeOffRefused({ ...deps, actor: 'Bob' }, found, 'another reason'), {
    kind: 'written_off',
    before: true,
    event: { data: { reason: 'agreed with the tenant' } },
  })
  refused.clear()
  t.match(await retryRefused(deps, found), { kind: 'written_off', before: true })
  t.same(await listed(), [])
  t.same(await place.calls(), [], 'it is never settled')
  t.match(await writtenOff(), [
    {
      callId: 'call_0',
      tenantId: 'ten_1',
      ...labels,
      refused: { eventId: found.event.id, type: 'CallFailed' },
      reason: 'agreed with the tenant',
      actor: 'Ada L.',
    },
  ])
})

t.test('a damaged file drained again settles no event that an operator decided on', async (t) => {
  const { place, log, refused, deps, refusedOf, directory } = await startRefused(t, names(2))
  await writeOffRefused(deps, await refusedOf('call_0'), 'given up')
  refused.clear()
  await retryRefused(deps, await refusedOf('call_1'))
  await spooled(
    place,
    names(3).map((name, n) => batchOf([name], journalStream('I', n))),
  )
  await drained(place, log, 'K')
  t.same([...(await place.calls())].sort(), ['call_1', 'call_2'])
  t.notOk((await readdir(directory)).includes('rejected.batches'), 'and its disk is given back')
})

for (const what of ['retry', 'resolve'] as const)
  t.test(`a ${what} that dies at any step has one outcome when it is repeated`, async (t) => {
    const { place, refused, deps, listed, refusedOf, writtenOff } = await startRefused(t, names(1))
    refused.clear()
    const run = async (log: EventLog) => {
      const found = await refusedOf('call_0')
      return what === 'retry'
        ? retryRefused({ ...deps, log }, found)
        : writeOffRefused({ ...deps, log }, found, 'given up')
    }
    const away = () => Promise.reject(logUnavailable('a switch of the test'))
    await t.rejects(run({ ...place.log, append: away }), { code: 'log_unavailable' })
    t.match(await listRefused(deps.directory), [{ isBegun: true }])
    const answerLost: EventLog['append'] = async (...args) => {
      await place.log.append(...args)
      return away()
    }
    await t.rejects(run({ ...place.log, append: answerLost }), { code: 'log_unavailable' })
    t.same(await listed(), names(1), 'it is listed until its end is known')
    t.match(await run(place.log), { before: true })
    t.same(await listed(), [])
    const [settled, given] = [await place.calls(), await writtenOff()]
    t.equal(settled.length, what === 'retry' ? 1 : 0)
    t.equal(given.length, what === 'retry' ? 0 : 1)
  })

t.test('of two operators at once, the log accepts one decision', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const { place, refused, deps, refusedOf, writtenOff } = await startRefused(t, names(1))
    refused.clear()
    const found = await refusedOf('call_0')
    const [retried, given] = await Promise.all([
      retryRefused(deps, found),
      writeOffRefused(deps, found, 'given up'),
    ])
    t.equal(retried.kind, given.kind)
    t.equal((await place.calls()).length + (await writtenOff()).length, 1)
  }
})

t.test('an event that an earlier drain settled is recognised at its place', async (t) => {
  const { place, refused, deps, refusedOf } = await startRefused(t, names(1))
  refused.clear()
  const found = await refusedOf('call_0')
  const { stream, events, expected } = found.batch
  await place.log.append(stream, events, expected)
  t.same(await retryRefused(deps, found), { kind: 'settled', before: true })
  t.same(await place.calls(), ['call_0'])
})

t.test('lines damaged by a crash or the disk are skipped, or counted', async (t) => {
  const { deps, directory, refusedOf, listed } = await startRefused(t, names(2))
  await appendFile(
    join(directory, 'rejected.handled'),
    `${(await refusedOf('call_0')).event.id} writ`,
  )
  await writeOffRefused(deps, await refusedOf('call_1'), 'given up')
  t.same(await listed(), ['call_0'])
  await appendFile(join(directory, 'rejected.batches'), '10 abcdef01 {}\n99 torn')
  t.equal((await listRefused(directory)).length, 1)
  t.same(
    await createSetAsideCount(directory)(),
    { refused: 1, damaged: 1 },
    'the last is being written',
  )
})
