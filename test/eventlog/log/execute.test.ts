import * as fc from 'fast-check'
import t from 'tap'
import { executeCommand } from '../../../src/eventlog/log/execute.ts'
import type { Decider } from '../../../src/domain/decider.ts'
import type { TaskEvent } from '../../../src/domain/task/events.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { testEventLog } from '../../helpers/eventstore.ts'
import { appendFaults, faultyLog, type AppendFault } from '../support/faulty-log.ts'
import { cancelled, range } from '../support/sample-events.ts'

const { log, close } = await testEventLog()
t.teardown(close)

/** Counts; a command adds one event per step and says which step it was. */
interface Command {
  readonly name: string
  readonly steps: number
}
const counter: Decider<number, Command, TaskEvent> = {
  initial: 0,
  decide: (command, count) =>
    range(command.steps).map((step) => ({
      type: 'TaskCancelled',
      data: { platformId: `${command.name}/${step}`, cancelledAt: `${count}` },
    })),
  evolve: (count) => count + 1,
}
type Input = Parameters<typeof executeCommand<number, Command, TaskEvent>>[0]
const execute = (
  log: EventLog,
  stream: string,
  command: Command,
  more: Partial<Pick<Input, 'decider' | 'known'>> = {},
) =>
  executeCommand({
    log,
    stream,
    decider: counter,
    command,
    commandId: command.name,
    metadata: { correlationId: 'req_1', tenantId: 'ten_1' },
    ...more,
  })
const stepsIn = async (stream: string) =>
  (await log.readStream(stream)).map((event) =>
    event.type === 'TaskCancelled' ? event.data.platformId : event.type,
  )

void t.test('a command on a new stream, then on an existing one', async (t) => {
  const first = await execute(log, 'task-a', { name: 'one', steps: 2 })
  t.equal(first.state, 2)
  t.equal(first.revision, 1n)
  const second = await execute(log, 'task-a', { name: 'two', steps: 1 })
  t.equal(second.state, 3)
  t.equal(second.revision, 2n)
  const recorded = await log.readStream('task-a')
  t.equal(second.position, recorded[2]!.position)
  t.same(
    [...first.events, ...second.events].map(({ id, revision }) => ({ id, revision })),
    recorded.map(({ id, revision }) => ({ id, revision })),
  )
  t.same(recorded[0]!.metadata, {
    correlationId: 'req_1',
    tenantId: 'ten_1',
    commandId: 'one',
    schemaVersion: 1,
  })
})

void t.test('a repeated command returns its first events', async (t) => {
  const first = await execute(log, 'task-b', { name: 'one', steps: 2 })
  await execute(log, 'task-b', { name: 'two', steps: 1 })
  const again = await execute(log, 'task-b', { name: 'one', steps: 2 })
  t.same(
    again.events.map((event) => event.id),
    first.events.map((event) => event.id),
  )
  t.equal(again.state, 3, 'the state as it is now')
  t.same(await stepsIn('task-b'), ['one/0', 'one/1', 'two/0'])
})

void t.test('a command that decides to no event appends none', async (t) => {
  const result = await execute(log, 'task-none', { name: 'one', steps: 0 })
  t.same(result, { state: 0, events: [], revision: undefined })
  t.same(await log.readStream('task-none'), [])
})

/** The log, and how often a stream was read through it. */
function counting() {
  const seen = { reads: 0 }
  const readStream: EventLog['readStream'] = (...args) => {
    seen.reads += 1
    return log.readStream(...args)
  }
  return { seen, log: { ...log, readStream } }
}

void t.test('a command on a new stream reads no event, and notices an existing one', async (t) => {
  const { seen, log } = counting()
  const fresh = (name: string) => execute(log, 'task-fresh', { name, steps: 1 }, { known: 'none' })
  t.equal((await fresh('one')).state, 1)
  t.equal(seen.reads, 0)
  t.equal((await fresh('one')).revision, 0n, 'a repetition')
  t.equal((await fresh('two')).state, 2)
  t.equal(seen.reads, 1)
  t.same(await stepsIn('task-fresh'), ['one/0', 'two/0'])
})

void t.test('a known state saves the read; where it is stale, the log decides', async (t) => {
  const { seen, log } = counting()
  const patient: typeof counter = {
    ...counter,
    decide: (command, count) => {
      if (command.name === 'late' && count < 3) throw new DomainError('task_state_conflict', '', {})
      return counter.decide(command, count)
    },
  }
  const know = (name: string, state: number, revision: bigint) =>
    execute(log, 'task-known', { name, steps: 1 }, { decider: patient, known: { state, revision } })
  const one = await execute(log, 'task-known', { name: 'one', steps: 2 })
  seen.reads = 0
  const two = await know('two', one.state, one.revision ?? -1n)
  t.match(two, { state: 3, revision: 2n })
  t.equal(seen.reads, 0)
  t.match(await know('three', 1, 0n), { state: 4, revision: 3n }, 'another writer was first')
  t.equal(seen.reads, 1)
  t.match(await know('late', 1, 0n), { state: 5 }, 'refused only by what the log has')
  t.equal(seen.reads, 2)
  await t.rejects(execute(log, 'task-empty', { name: 'late', steps: 1 }, { decider: patient }), {
    code: 'task_state_conflict',
  })
  t.same(await stepsIn('task-known'), ['one/0', 'one/1', 'two/0', 'three/0', 'late/0'])
})

void t.test('ten commands at once on one stream are all appended once', async (t) => {
  await Promise.all(
    range(10).map((index) => execute(log, 'task-race', { name: `c${index}`, steps: 2 })),
  )
  const steps = await stepsIn('task-race')
  t.equal(steps.length, 20)
  t.equal(new Set(steps).size, 20)
})

/** What a careful caller does: the same command until it has an answer. */
async function untilDone(log: EventLog, stream: string, command: Command): Promise<void> {
  for (let tries = 0; tries < 40; tries += 1)
    try {
      await execute(log, stream, command)
      return
    } catch (error) {
      const code = error instanceof DomainError ? error.code : ''
      if (code !== 'log_unavailable' && code !== 'log_outcome_unknown') throw error
    }
  throw new Error('it never got through')
}

let runs = 0
void t.test('for any faults of the appends, every command is applied exactly once', async (t) => {
  const fault = fc.constantFrom<AppendFault>(...appendFaults)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fault, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 }),
      async (faults, sizes) => {
        runs += 1
        const stream = `task-p${runs}`
        let rivals = 0
        const faulty = faultyLog(log, faults, async () => {
          rivals += 1
          await log.append(stream, [cancelled(stream, `rival${rivals}`)], 'any')
        })
        const commands = sizes.map((steps, index) => ({ name: `c${index}`, steps }))
        await Promise.all(commands.map((command) => untilDone(faulty.log, stream, command)))
        await faulty.settled()
        const steps = (await stepsIn(stream)).filter((step) => !step.startsWith('video_rival'))
        const expected = commands.flatMap(({ name, steps }) =>
          range(steps).map((step) => `${name}/${step}`),
        )
        if (JSON.stringify([...steps].sort()) !== JSON.stringify([...expected].sort()))
          throw new Error(`in the log: ${steps.join(' ')}`)
        const total = (await log.readStream(stream)).length
        const state = (await execute(log, stream, commands[0]!)).state
        if (state !== total) throw new Error(`state ${state} of ${total} events`)
      },
    ),
    { numRuns: 80 },
  )
  t.ok(runs >= 80)
})
