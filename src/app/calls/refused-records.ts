import { journalStream, type WriteOffEvent } from '../../domain/call/events.ts'
import { labelsIn } from '../../domain/reporting-labels.ts'
import {
  readRejected,
  writeHandled,
  type Handling,
  type RejectedRecord,
} from '../../eventlog/journal/rejected-records.ts'
import { isRefusedForGood } from '../../eventlog/journal/writer.ts'
import type { EventLog, NewEvent, RecordedEvent } from '../../eventlog/log/types.ts'
import { currentSchemaVersion } from '../../eventlog/log/codec.ts'
import { toTimestamp, type Clock } from '../../kernel/clock.ts'
import { isDomainError } from '../../kernel/errors.ts'
import { eventId } from '../../kernel/ids.ts'

/**
 * Operators' decisions about settlements that the log permanently refused. Each is settled or given
 * up by one append at one position, the first of the stream named after it. So of two operators
 * only one succeeds, and a repetition after a crash is recognised. It leaves the list only after
 * the append.
 */

export interface RefusedDeps {
  readonly log: EventLog
  /** The spool's directory. */
  readonly directory: string
  readonly clock: Clock
  readonly actor: string
}

type RefusedEvent = Extract<NewEvent, { type: 'CallSettled' | 'CallFailed' }>

/** A refused settlement, or the record of a failed call. */
export interface RefusedRecord extends RejectedRecord {
  readonly event: RefusedEvent
}

export type RefusedOutcome =
  /** The log has its event; `before` when it had it already. */
  | { readonly kind: 'settled'; readonly before: boolean }
  /** The record is given up; with the log's event, and whether that existed already. */
  | { readonly kind: 'written_off'; readonly before: boolean; readonly event: WriteOffEvent }
  /** The log still refuses it. */
  | { readonly kind: 'refused'; readonly reason: string }

/** Lists refused events in a spool's directory, oldest first; `withEnded` adds decided ones. */
export async function listRefused(
  directory: string,
  options: { readonly withEnded?: boolean } = {},
): Promise<readonly RefusedRecord[]> {
  const { items } = await readRejected(directory, options)
  const isCall = (each: RejectedRecord): each is RefusedRecord =>
    each.event.type === 'CallSettled' || each.event.type === 'CallFailed'
  return items.filter(isCall)
}

/** Tries once more to append an event. @throws while the log is unavailable */
export async function retryRefused(
  deps: RefusedDeps,
  refused: RefusedRecord,
): Promise<RefusedOutcome> {
  return decide(deps, refused, refused.event)
}

/** Gives an event up, unless the log has it. @throws while the log is unavailable */
export async function writeOffRefused(
  deps: RefusedDeps,
  { event, ...rest }: RefusedRecord,
  reason: string,
): Promise<RefusedOutcome> {
  const { data, metadata } = event
  const commandId = `write-off:${event.id}`
  return decide(
    deps,
    { event, ...rest },
    {
      type: 'CallWrittenOff',
      data: {
        callId: data.callId,
        surface: data.surface,
        tenantId: data.tenantId,
        userId: data.userId,
        tokenId: data.tokenId,
        requestId: data.requestId,
        model: data.model,
        channelId: data.channelId,
        upstreamModel: data.upstreamModel,
        ...(data.upstreamRequestId === undefined
          ? {}
          : { upstreamRequestId: data.upstreamRequestId }),
        stream: data.stream,
        ...labelsIn(data),
        startedAt: data.startedAt,
        refused: { eventId: event.id, type: event.type },
        ...(event.type === 'CallSettled' ? { unbilled: moneyOf(event) } : {}),
        reason,
        writtenOffAt: toTimestamp(deps.clock.nowMs()),
      },
      id: eventId(placeOf(event), commandId, 0),
      metadata: {
        schemaVersion: currentSchemaVersion('CallWrittenOff'),
        correlationId: metadata.correlationId,
        commandId,
        causationId: event.id,
        tenantId: data.tenantId,
        tokenId: data.tokenId,
        actor: deps.actor,
      },
    },
  )
}

/** The amount of a settlement. */
export function moneyOf({ data }: Extract<RefusedEvent, { type: 'CallSettled' }>): {
  readonly currency: string
  readonly amount: string
} {
  const { currency, amount } = data.settlement
  return { currency, amount }
}

function placeOf({ id }: NewEvent): string {
  return journalStream(id, 0)
}

/** Appends an operator's decision, unless the log has one. */
async function decide(
  deps: RefusedDeps,
  refused: RefusedRecord,
  decision: NewEvent,
  isLast = false,
): Promise<RefusedOutcome> {
  const { directory } = deps
  const { event } = refused
  // From here on no drain appends the event elsewhere.
  await writeHandled(directory, event.id, 'begun')
  const end = async (outcome: RefusedOutcome, handling: Handling): Promise<RefusedOutcome> => {
    await writeHandled(directory, event.id, handling)
    return outcome
  }
  if (await isSettled(deps.log, refused)) return end({ kind: 'settled', before: true }, 'settled')
  const known = await decided(deps.log, event)
  if (known !== undefined) return end(known, 'written-off')
  try {
    await deps.log.append(placeOf(event), [decision], 'no_stream')
  } catch (error) {
    if (!isRefusedForGood(error)) throw error
    // Another operator decided meanwhile.
    if (isDomainError(error, 'wrong_expected_revision') && !isLast)
      return decide(deps, refused, decision, true)
    return { kind: 'refused', reason: error instanceof Error ? error.message : String(error) }
  }
  return decision.type === 'CallWrittenOff'
    ? end({ kind: 'written_off', before: false, event: decision }, 'written-off')
    : end({ kind: 'settled', before: false }, 'settled')
}

/**
 * Whether the log has the event: in its batch's stream, or where the drain appends events that the
 * batch's stream lacks, which is named after the first of them.
 */
async function isSettled(log: EventLog, { event, batch }: RefusedRecord): Promise<boolean> {
  const upTo = batch.events.findIndex(({ id }) => id === event.id) + 1
  const streams = [batch.stream, ...batch.events.slice(0, upTo).map(placeOf)]
  for (const stream of streams)
    if ((await log.readStream(stream)).some(({ id }) => id === event.id)) return true
  return false
}

/** The decision to give an event up, if the log has one. */
async function decided(log: EventLog, event: NewEvent): Promise<RefusedOutcome | undefined> {
  const [first] = await log.readStream(placeOf(event), { limit: 1 })
  if (first === undefined || !isWriteOff(first)) return undefined
  return { kind: 'written_off', before: true, event: { type: first.type, data: first.data } }
}

function isWriteOff(event: RecordedEvent): event is RecordedEvent<WriteOffEvent> {
  return event.type === 'CallWrittenOff'
}
