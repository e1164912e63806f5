import { LRUCache } from 'lru-cache'
import type { AnyEvent } from '../../../src/domain/any-event.ts'
import { journalStream } from '../../../src/domain/call/events.ts'
import { taskStream } from '../../../src/domain/task/events.ts'
import { eventsThrough } from '../../../src/eventlog/log/position.ts'
import type {
  EventLog,
  ReadAllOptions,
  ReadOptions,
  RecordedEvent,
} from '../../../src/eventlog/log/types.ts'
import { publishBook } from '../../app/audit/support/audited.ts'
import {
  openTenant,
  platformId,
  Recorder,
  recordCall,
  START_MS,
  taskSteps,
} from '../../projections/support/history.ts'

const TENANTS = 50
/** A task's steps lie this many rounds apart. */
const WIDTH = 300
const CALLS_A_ROUND = 4
/** Settlements of a round: of one task and of its calls. */
export const SETTLEMENTS_A_ROUND = CALLS_A_ROUND + 1
/** Positions of a round: five of tasks, one for each call, one that stays free. */
const ROUND_POSITIONS = 10n
/** What comes before the first round lies before this. */
const FIRST_POSITION = 10_000n
const ROUND_MS = 500

const tenantOf = (n: number): string => `tenant_${n % TENANTS}`

/** Steps of a task, how many rounds after its first, and their place in the round. */
const steps = [
  ['requested', 0],
  ['submitted', 1],
  ['running', 2],
  ['succeeded', 3],
  ['settled', 3],
] as const

function recorded(
  stream: string,
  event: AnyEvent,
  at: { readonly revision: number; readonly round: number; readonly slot: number },
): RecordedEvent {
  const position = FIRST_POSITION + BigInt(at.round) * ROUND_POSITIONS + BigInt(at.slot)
  return {
    ...event,
    id: `00000000-0000-5000-8000-${position.toString(16).padStart(12, '0')}`,
    metadata: { schemaVersion: 1, correlationId: 'req_bench', commandId: 'bench' },
    stream,
    revision: BigInt(at.revision),
    position,
    recordedAt: new Date(START_MS + at.round * ROUND_MS),
  }
}

/** Steps of the tasks of the last rounds: making them again for each step would be most of what is measured. */
const made = new LRUCache<number, ReturnType<typeof taskSteps>>({ max: steps.length * WIDTH })

function stepsOf(n: number): ReturnType<typeof taskSteps> {
  const known = made.get(n)
  if (known !== undefined) return known
  const all = taskSteps({ n, tenantId: tenantOf(n) })
  made.set(n, all)
  return all
}

function taskStep(n: number, slot: number): RecordedEvent {
  const [name = 'requested', rounds = 0] = steps[slot] ?? []
  const event = stepsOf(n)[name]
  return recorded(taskStream(platformId(n)), event, {
    revision: slot,
    round: n + rounds * WIDTH,
    slot,
  })
}

function call(round: number, index: number): RecordedEvent {
  const n = round * CALLS_A_ROUND + index
  const { type, data } = recordCall(new Recorder(), n, tenantOf(n))
  const at = { revision: n, round, slot: steps.length + index }
  return recorded(journalStream('bench', 1), { type, data } as AnyEvent, at)
}

function prelude(): readonly RecordedEvent[] {
  const recorder = new Recorder()
  const book = publishBook(recorder)
  const tenants = Array.from({ length: TENANTS }, (_, n) => openTenant(recorder, tenantOf(n)))
  return [book, ...tenants.flat()]
}

/** How many events a log of so many rounds has. */
export function eventsOf(rounds: number): number {
  return prelude().length + rounds * (steps.length + CALLS_A_ROUND)
}

/**
 * A log of any length that is nowhere: its events are made as they are read, in order or by stream, and
 * are the same each time. One task and four calls a round, tasks overlapping.
 */
export function settledLog(rounds: number): EventLog {
  const first = prelude()
  async function* readAll(options: ReadAllOptions = {}): AsyncGenerator<RecordedEvent> {
    const from = options.from === undefined ? -1n : eventsThrough(options.from)
    await Promise.resolve()
    for (const event of first) if (event.position > from) yield event
    const begun = from < FIRST_POSITION ? 0n : (from - FIRST_POSITION) / ROUND_POSITIONS
    for (let round = Number(begun); round < rounds + 3 * WIDTH; round += 1)
      for (const event of roundOf(round)) if (event.position > from) yield event
  }
  function* roundOf(round: number): Generator<RecordedEvent> {
    for (const [slot, [, after]] of steps.entries()) {
      const n = round - after * WIDTH
      if (n >= 0 && n < rounds) yield taskStep(n, slot)
    }
    if (round >= rounds) return
    for (let index = 0; index < CALLS_A_ROUND; index += 1) yield call(round, index)
  }
  const readStream = async (
    stream: string,
    { from = 0n, limit = Number.MAX_SAFE_INTEGER }: ReadOptions = {},
  ): Promise<readonly RecordedEvent[]> => {
    const task = /^task-video_01J(\d+)$/.exec(stream)
    const n = Number(task?.[1] ?? -1)
    const events = task
      ? steps.map((_, slot) => taskStep(n, slot))
      : first.filter((event) => event.stream === stream)
    return Promise.resolve(
      n >= rounds ? [] : events.slice(Number(from)).slice(0, Math.min(limit, events.length)),
    )
  }
  const unused = async (): Promise<never> => Promise.reject(new Error('this log only reads'))
  return {
    readAll,
    readStream,
    subscribe: async function* ({ from, signal }) {
      for await (const event of readAll(from === undefined ? {} : { from }))
        yield { kind: 'event', event }
      yield { kind: 'caughtUp' }
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    },
    append: unused,
    endPosition: async () => Promise.resolve(taskStep(rounds - 1, steps.length - 1).position),
    healthy: () => true,
    ready: async () => Promise.resolve(),
    passed: () => undefined,
    denial: () => undefined,
    checkAccess: async () => Promise.resolve(undefined),
    close: async () => Promise.resolve(),
  }
}
