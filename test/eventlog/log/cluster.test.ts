import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createEventLog, type EventLogOptions } from '../../../src/eventlog/log/client.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { startPretendedCluster } from '../../helpers/cluster.ts'
import { newNamespace } from '../../helpers/eventstore.ts'
import { cancelled, range } from '../support/sample-events.ts'
import { eventually, until } from '../../helpers/eventually.ts'

/** The log's client on a cluster whose leader changes, is not ready, or refuses our account. */

/** A busy machine takes part of it for one change of leader. */
const PATIENCE_MS = 60_000
const patient = {
  outagePatienceMs: PATIENCE_MS,
  appendDeadlineMs: PATIENCE_MS,
  readDeadlineMs: PATIENCE_MS,
}

const cluster = await startPretendedCluster()
t.teardown(() => cluster.stop())

function open(t: Test, options: Partial<EventLogOptions> = {}): EventLog {
  const url = cluster.url.replace('esdb://', 'esdb://tollgate:secret@')
  const log = createEventLog({ url, namespace: newNamespace(), ...options })
  t.teardown(() => log.close())
  return log
}

/** Appends to separate streams until it is stopped; returns what each wrote. */
function write(log: EventLog, writers: number) {
  const stopping = new AbortController()
  const written = range(writers).map(() => 0)
  const done = Promise.all(
    written.map(async (_, writer) => {
      const stream = `task-w${writer}`
      for (let next = 0; !stopping.signal.aborted; written[writer] = next += 1)
        await log.append(
          stream,
          [cancelled(stream, `c${next}`)],
          next === 0 ? 'no_stream' : BigInt(next - 1),
        )
    }),
  )
  return {
    /** How many appends the slowest writer has made. */
    least: () => Math.min(...written),
    stop: async () => {
      stopping.abort()
      await done
      return written
    },
  }
}

async function eachOnce(t: Test, log: EventLog, written: readonly number[]): Promise<void> {
  for (const [writer, count] of written.entries()) {
    const stream = `task-w${writer}`
    const ids = (await log.readStream(stream)).map((event) => event.id)
    t.same(
      ids,
      range(count).map((index) => cancelled(stream, `c${index}`).id),
      `${count} of writer ${writer}, each once`,
    )
  }
}

for (const how of ['lead', 'error', 'connection'] as const)
  void t.test(`appends survive a leader that goes by ${how}, each once`, async (t) => {
    const log = open(t, { limits: patient })
    const writing = write(log, 12)
    const goOn = async (appends: number): Promise<void> => {
      const before = writing.least()
      await until(() => writing.least() >= before + appends)
    }
    await goOn(3)
    for (const next of [1, 2, 0]) {
      if (how === 'lead') await cluster.lead(next)
      else await cluster.depose(next, how)
      await goOn(3)
    }
    await eachOnce(t, log, await writing.stop())
  })

/**
 * Begins an append to `task-1` that is committed as its event with this number, and not answered in its time; a busy
 * machine has more of that in each try.
 */
async function loseAppend(log: EventLog, revision: number): Promise<{ lost: Promise<unknown> }> {
  const isThere = async () => (await log.readStream('task-1')).length > revision
  for (let deadlineMs = 600; ; deadlineMs *= 2) {
    let isOver = false
    const lost = log.append(
      'task-1',
      [cancelled('task-1', `c${revision}`)],
      revision === 0 ? 'no_stream' : BigInt(revision - 1),
      { deadlineMs },
    )
    lost.catch(() => (isOver = true))
    await until(async () => isOver || isThere())
    if (await isThere()) return { lost }
  }
}

void t.test('an append committed on a call that then ends is not reported as absent', async (t) => {
  const log = open(t, { limits: patient })
  await log.append('task-1', [cancelled('task-1', 'c0')], 'no_stream')
  await cluster.loseAnswers()
  // The only try is committed and not answered, and then the call is over.
  const { lost } = await loseAppend(log, 1)
  await cluster.notReady()
  await cluster.depose(1, 'connection')
  await t.rejects(lost, { code: 'log_outcome_unknown' })
  await cluster.recover()
  await cluster.setFault('')
  await until(() => log.healthy())
  await log.append('task-1', [cancelled('task-1', 'c1')], 0n)
  t.equal((await log.readStream('task-1')).length, 2, 'tried again exactly, it is there once')
})

/**
 * How a shared call ends that was never answered: with the leader's word that it leads no longer,
 * which another append on that call receives, or that it is not ready.
 */
const ENDS = {
  'not leader': async (t: Test, log: EventLog) => {
    // Later tries reach no server, for certain: the new leader takes no connections.
    await cluster.silence(1, 'refuse')
    await cluster.lead(1)
    const other = log.append('task-2', [cancelled('task-2', 'c0')], 'no_stream', {
      deadlineMs: 600,
    })
    await t.rejects(other, /event log/)
  },
  'not ready': async () => {
    await cluster.notReady()
    await cluster.depose(1, 'error')
  },
} as const

for (const end of ['not leader', 'not ready'] as const)
  void t.test(`an append on a call that ends by "${end}" is never absent`, async (t) => {
    await cluster.lead(0)
    const log = open(t, { limits: patient })
    await cluster.loseAnswers()
    const { lost } = await loseAppend(log, 0)
    await ENDS[end](t, log)
    await t.rejects(lost, { code: 'log_outcome_unknown' })
    await cluster.recover()
    await cluster.lead(0)
    await until(() => log.healthy())
    // What was written may be carried out at any time after the call has ended.
    await eventually('it is there', async () => (await log.readStream('task-1'))[0])
    await log.append('task-1', [cancelled('task-1', 'c0')], 'no_stream')
    t.equal((await log.readStream('task-1')).length, 1, 'tried again exactly, it is there once')
  })

void t.test('an append never written to a call is certainly absent', async (t) => {
  const log = open(t)
  await cluster.silence('all', 'refuse')
  const append = log.append('task-1', [cancelled('task-1', 'c0')], 'no_stream', { deadlineMs: 600 })
  await t.rejects(append, { code: 'log_unavailable' })
  await cluster.recover()
})

for (const away of ['notReady', 'nobodyLeads'] as const)
  void t.test(`an append begun under "${away}" reaches the next leader`, async (t) => {
    const log = open(t, { limits: patient })
    await log.append('task-1', [cancelled('task-1', 'c0')], 'no_stream')
    await cluster[away]()
    const appended = log.append('task-1', [cancelled('task-1', 'c1')], 0n)
    appended.catch(() => undefined)
    // Its failed tries are what makes the log unhealthy.
    await until(() => !log.healthy())
    await cluster.recover()
    await cluster.lead(2)
    await appended
    t.equal((await log.readStream('task-1')).length, 2)
    await cluster.lead(0)
  })

// Its connections stay, and nothing on them ends: only silence says so. Within their deadlines the
// calls below would otherwise have nowhere else to go.
void t.test('calls kept by a frozen leader are sent to the next one', async (t) => {
  const log = open(t, {
    limits: { ...patient, appendTryMs: PATIENCE_MS, readTryMs: PATIENCE_MS },
  })
  await log.append('task-1', [cancelled('task-1', 'c0')], 'no_stream')
  await cluster.silence(0, 'freeze')
  const calls = [
    log.append('task-1', [cancelled('task-1', 'c1')], 0n),
    log.readStream('task-1'),
  ] as const
  for (const call of calls) call.catch(() => undefined)
  // No node leads yet when it is first asked.
  await cluster.setStates('UNKNOWN', 'UNKNOWN', 'UNKNOWN')
  await sleep(1_500)
  await cluster.lead(1)
  await t.resolves(Promise.all(calls))
  t.equal((await log.readStream('task-1')).length, 2, 'once')
  await cluster.recover()
  await cluster.lead(0)
})

void t.test('a missing right is reported with its account', async (t) => {
  const log = open(t)
  t.teardown(() => cluster.deny())
  await log.checkAccess()
  for (const [denied, right] of [
    ['read_all', /the account tollgate: it needs the right to read \$all/],
    ['append', /the account tollgate: it needs the right to append to streams/],
    ['authenticate', /refuses the account tollgate/],
  ] as const) {
    await cluster.deny(denied)
    await t.rejects(log.checkAccess(), { code: 'log_access_denied', message: right })
  }
  await cluster.deny()
  await log.checkAccess()
})

void t.test(
  'a revoked right is distinguished from an outage, and restoring it ends the refusal',
  async (t) => {
    const warnings: string[] = []
    const note = (_: object, message: string) => void warnings.push(message)
    const logger = { debug: () => undefined, info: () => undefined, warn: note, error: note }
    let drops = 0
    const log = open(t, {
      log: logger,
      limits: { idleCheckMs: 200, backoffMaxMs: 50 },
      observer: { subscription: ({ kind }) => (drops += kind === 'dropped' ? 1 : 0) },
    })
    t.teardown(() => cluster.deny())
    const stopping = new AbortController()
    const seen: string[] = []
    const following = (async () => {
      for await (const message of log.subscribe({ signal: stopping.signal }))
        if (message.kind === 'event') seen.push(message.event.stream)
    })()
    await log.append('task-1', [cancelled('task-1', 'c')], 'no_stream')
    t.equal(log.denial(), undefined)

    await cluster.deny('append')
    await t.rejects(log.append('task-2', [cancelled('task-2', 'c')], 'no_stream'), {
      code: 'log_unavailable',
    })
    t.match(log.denial(), /^refuses our account: append: /)
    t.equal(log.healthy(), false, 'nothing new is taken on')
    await cluster.deny()
    await until(() => log.healthy() && log.denial() === undefined)

    await cluster.deny('read_all')
    await cluster.depose(1, 'connection')
    await cluster.silence('all', 'refuse')
    await cluster.recover()
    await cluster.deny('read_all')
    await until(() => log.denial()?.startsWith('refuses our account: read: ') === true)
    const before = drops
    await until(() => drops >= before + 8)
    t.ok(
      warnings.filter((message) => message === 'log subscription dropped').length <= 2,
      'what keeps failing is not said each time',
    )
    await cluster.deny()
    await until(() => log.healthy())
    await log.append('task-3', [cancelled('task-3', 'c')], 'no_stream')
    await until(() => seen.includes('task-3'))
    stopping.abort()
    await following
  },
)

/** Names of the streams that a whole read meets. */
async function streamsOf(events: AsyncIterable<{ readonly stream: string }>): Promise<string[]> {
  const streams: string[] = []
  for await (const { stream } of events) streams.push(stream)
  return streams
}

void t.test('the whole log is read from the leader, also by a client of a follower', async (t) => {
  await cluster.lead(0)
  t.teardown(() => cluster.recover())
  const namespace = newNamespace()
  const tasks = range(6).map((n) => `task-${n}`)
  const log = open(t, { namespace })
  for (const task of tasks) await log.append(task, [cancelled(task, 'c')], 'no_stream')
  await cluster.lag(1, 2)
  const near = createEventLog({ url: cluster.memberUrl(1), namespace })
  t.teardown(() => near.close())
  t.same(await streamsOf(near.readAll()), tasks)
})

void t.test('a read that its node ends, having lost the lead, continues elsewhere', async (t) => {
  await cluster.lead(0)
  t.teardown(() => cluster.recover())
  const log = open(t)
  const tasks = range(6).map((n) => `task-${n}`)
  for (const task of tasks) await log.append(task, [cancelled(task, 'c')], 'no_stream')
  await cluster.lag(0, 2)
  const reading = log.readAll()[Symbol.asyncIterator]()
  const streams: string[] = []
  for (let next = await reading.next(); next.done !== true; next = await reading.next()) {
    streams.push(next.value.stream)
    if (streams.length === 1) await cluster.lead(1)
  }
  t.same(streams, tasks)
})
