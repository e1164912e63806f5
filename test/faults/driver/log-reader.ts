import { START } from '@eventstore/db-client'
import { openClient } from '../../../src/eventlog/log/connection.ts'
import type { LoggedSettlement } from './bill.ts'
import type { Usage } from './tasks/family.ts'

/** Reads the log by itself, with none of the product's code: what an outsider finds in it. */

const READ_TIMEOUT_MS = 180_000

export interface LoggedEvent {
  /** Of its namespace, without that. */
  readonly stream: string
  readonly type: string
  readonly revision: bigint
  readonly at: number
  readonly commandId: string
  readonly data: Readonly<Record<string, unknown>>
}

/** One task as its own stream tells it. */
export interface LoggedTask {
  readonly platformId: string
  readonly tenantId: string
  readonly events: readonly LoggedEvent[]
  readonly family: string
  readonly requestId: string
  readonly model: string
  /** As it was asked for. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly marker: string
  readonly markerIsOurs: boolean
  readonly requestedAtMs: number
  readonly nativeId: string | undefined
  readonly via: string | undefined
  readonly refused: boolean
  readonly uncertain: boolean
  readonly deleted: boolean
  /** Undefined while it is open. */
  readonly end: 'succeeded' | 'failed' | 'expired' | 'cancelled' | undefined
  readonly possibleCostLeak: boolean
  /** Given up as certainly never accepted upstream. */
  readonly neverAccepted: boolean
  readonly settlements: readonly (LoggedSettlement & {
    readonly nativeId: string
    readonly usage: Usage
  })[]
}

const ends: Readonly<Record<string, LoggedTask['end']>> = {
  TaskSucceeded: 'succeeded',
  TaskFailed: 'failed',
  TaskExpired: 'expired',
  TaskCancelled: 'cancelled',
}

/** Every event of a namespace, in the log's order. */
export async function readLog(
  eventStoreUrl: string,
  namespace = 'tollgate.',
): Promise<readonly LoggedEvent[]> {
  const client = openClient(eventStoreUrl)
  const events: LoggedEvent[] = []
  try {
    const reading = client.readAll({ fromPosition: START, deadline: READ_TIMEOUT_MS })
    for await (const { event } of reading) {
      if (event === undefined || !event.streamId.startsWith(namespace)) continue
      const metadata = event.metadata as { readonly commandId?: string } | undefined
      events.push({
        stream: event.streamId.slice(namespace.length),
        type: event.type,
        revision: event.revision,
        at: event.created.getTime(),
        commandId: metadata?.commandId ?? '',
        data: event.data as Readonly<Record<string, unknown>>,
      })
    }
  } finally {
    await client.dispose()
  }
  return events
}

/** The streams whose names begin so, by the rest of their names. */
export function streamsOf(
  log: readonly LoggedEvent[],
  prefix: string,
): ReadonlyMap<string, readonly LoggedEvent[]> {
  const streams = new Map<string, LoggedEvent[]>()
  for (const event of log) {
    if (!event.stream.startsWith(prefix)) continue
    const id = event.stream.slice(prefix.length)
    const known = streams.get(id)
    if (known === undefined) streams.set(id, [event])
    else known.push(event)
  }
  return streams
}

/** Whether an id of ours names a task that upstream makes by itself. */
export function isUpstreamTask(id: string): boolean {
  return /^(?:video|speech)_/.test(id)
}

/** Every task that upstream makes by itself, by platform id. */
export function upstreamTasksOf(log: readonly LoggedEvent[]): ReadonlyMap<string, LoggedTask> {
  const streams = [...streamsOf(log, 'task-')].filter(([id]) => isUpstreamTask(id))
  return new Map(streams.map(([id, events]) => [id, fold(id, events)]))
}

function fold(platformId: string, events: readonly LoggedEvent[]): LoggedTask {
  const of = (type: string): LoggedEvent | undefined => events.find((one) => one.type === type)
  const has = (type: string): boolean => of(type) !== undefined
  const requested = of('TaskRequested')?.data ?? {}
  const submitted = of('TaskSubmitted')?.data
  const last = events.findLast(({ type }) => Object.hasOwn(ends, type))
  return {
    platformId,
    tenantId: String(requested['tenantId']),
    events,
    family: String(requested['family']),
    requestId: String(requested['requestId']),
    model: String(requested['model']),
    settings: (requested['facts'] as Pick<LoggedTask, 'settings'>).settings,
    marker: String(requested['marker']),
    markerIsOurs: requested['markerIsOurs'] === true,
    requestedAtMs: Date.parse(String(requested['requestedAt'])),
    nativeId: submitted === undefined ? undefined : String(submitted['nativeId']),
    via: submitted === undefined ? undefined : String(submitted['via']),
    refused: has('TaskSubmissionRefused'),
    uncertain: has('TaskSubmissionUncertain'),
    deleted: has('TaskDeleted'),
    end: last === undefined ? undefined : ends[last.type],
    possibleCostLeak:
      has('TaskAppearedLate') || of('TaskExpired')?.data['possibleCostLeak'] === true,
    neverAccepted: of('TaskFailed')?.data['absence'] !== undefined,
    settlements: events
      .filter(({ type }) => type === 'TaskSettled')
      .map(({ data }) => {
        const { settlement, usage, nativeId } = data as {
          readonly nativeId: string
          readonly usage: Usage
          readonly settlement: LoggedSettlement
        }
        return { nativeId, usage, ...settlement }
      }),
  }
}

/** Whether a task still waits for something: it was accepted, or may have been. */
export function isOpen(task: LoggedTask): boolean {
  return !task.refused && task.end === undefined
}

/** The synchronous calls of a log. */

/** A line of a settlement as it was written down. */
interface WrittenLine {
  readonly sku: string
  readonly quantity: number
  readonly price: string
  readonly per: number
  readonly amount: string
  readonly measurement: 'reported' | 'estimated'
}

/** One `CallSettled` or `CallFailed`. */
export interface LoggedCall {
  readonly type: string
  readonly stream: string
  readonly callId: string
  readonly requestId: string
  readonly outcome: string | undefined
  readonly settlement:
    | {
        readonly currency: string
        readonly amount: string
        readonly priceBookVersion: string
        readonly lines: readonly WrittenLine[]
      }
    | undefined
}

/** Every call, in the log's order. */
export function callsOf(log: readonly LoggedEvent[]): readonly LoggedCall[] {
  return log
    .filter(({ stream }) => stream.startsWith('journal-'))
    .map(({ type, stream, data }) => {
      const { callId, requestId, outcome, settlement } = data as unknown as Omit<
        LoggedCall,
        'type' | 'stream'
      >
      return { type, stream, callId, requestId, outcome, settlement }
    })
}
