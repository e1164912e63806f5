import type { LoggedSettlement } from '../bill.ts'
import { type LoggedEvent, streamsOf } from '../log-reader.ts'

/** One asynchronous order as its own stream tells it. */
export interface LoggedImageTask {
  readonly platformId: string
  readonly events: readonly LoggedEvent[]
  readonly requestId: string
  readonly requestedAtMs: number
  readonly started: boolean
  /** Why nobody can say what became of it. */
  readonly uncertain: string | undefined
  /** Undefined while it is open. */
  readonly end: 'succeeded' | 'failed' | 'expired' | undefined
  readonly possibleCostLeak: boolean
  readonly settlements: readonly LoggedSettlement[]
}

const ends: Readonly<Record<string, LoggedImageTask['end']>> = {
  TaskSucceeded: 'succeeded',
  TaskFailed: 'failed',
  TaskExpired: 'expired',
}

/** Every asynchronous order of a log by platform id. */
export function imageTasksOf(log: readonly LoggedEvent[]): ReadonlyMap<string, LoggedImageTask> {
  const streams = [...streamsOf(log, 'task-')].filter(([id]) => id.startsWith('image_'))
  return new Map(streams.map(([id, events]) => [id, fold(id, events)]))
}

function fold(platformId: string, events: readonly LoggedEvent[]): LoggedImageTask {
  const of = (type: string) => events.find((one) => one.type === type)?.data
  const requested = of('TaskRequested') ?? {}
  const uncertain = of('TaskSubmissionUncertain')
  const last = events.findLast(({ type }) => Object.hasOwn(ends, type))
  return {
    platformId,
    events,
    requestId: String(requested['requestId']),
    requestedAtMs: Date.parse(String(requested['requestedAt'])),
    started: of('TaskStarted') !== undefined,
    uncertain: uncertain && String(uncertain['reason']),
    end: last === undefined ? undefined : ends[last.type],
    possibleCostLeak: last?.data['possibleCostLeak'] === true,
    settlements: events
      .filter(({ type }) => type === 'TaskSettled')
      .map(({ data }) => data['settlement'] as LoggedSettlement),
  }
}
