import type { Settlement } from '../../../domain/pricing/settlement.ts'
import type { RecordedEvent } from '../../../eventlog/log/types.ts'

/** The money status of a task or a call, by its events. */
export type ReceiptStatus =
  | { readonly state: 'settled'; readonly settlement: Settlement }
  /** `why` completes the sentence that nothing is billed. */
  | { readonly state: 'not_billed'; readonly why: string }
  /** The amount held; `unknown` when the model service may have accepted it. */
  | { readonly state: 'running' | 'unknown'; readonly hold: string }
  /** The provider has made it, and is asked for its usage. */
  | {
      readonly state: 'awaiting_usage'
      readonly hold: string
      /** The reported usage is more than the request can cost, so it is not believed. */
      readonly isDoubted: boolean
    }

type EventOf<Type extends RecordedEvent['type']> = Extract<RecordedEvent, { readonly type: Type }>

/** The event that began a task, or the only event of a call. */
export type Opening = EventOf<'TaskRequested' | 'CallSettled' | 'CallFailed' | 'CallWrittenOff'>

export function isOpening(event: RecordedEvent): event is Opening {
  const { type } = event
  return (
    type === 'TaskRequested' ||
    type === 'CallSettled' ||
    type === 'CallFailed' ||
    type === 'CallWrittenOff'
  )
}

/** Why an event ends its task or call without a bill; undefined for other events. */
function unbilledBy(event: RecordedEvent): string | undefined {
  if (event.type === 'CallFailed') return `the call failed (${event.data.code})`
  if (event.type === 'CallWrittenOff') return `its settlement was given up (${event.data.reason})`
  if (event.type === 'TaskFailed')
    return event.data.givenUp === undefined
      ? `the task failed (${event.data.code})`
      : 'the task was given up, because its outcome was not known'
  if (event.type === 'TaskSubmissionRefused')
    return `the task was refused before it began (${event.data.code})`
  if (event.type === 'TaskCancelled') return 'the task was cancelled'
  if (event.type !== 'TaskExpired') return undefined
  return event.data.reason === 'deadline'
    ? 'no end of the task was seen by its deadline'
    : 'the task expired'
}

/** Whether an event says that the provider made the result, without a usage that can be believed. */
function isWithheld(event: RecordedEvent): event is EventOf<'TaskStatusChanged'> {
  return event.type === 'TaskStatusChanged' && event.data.awaitsUsage === true
}

/** The status after the events, in their order. */
export function receiptStatusOf(opening: Opening, events: readonly RecordedEvent[]): ReceiptStatus {
  for (const event of events)
    if (event.type === 'TaskSettled' || event.type === 'CallSettled') {
      return { state: 'settled', settlement: event.data.settlement }
    }
  for (const event of events) {
    const why = unbilledBy(event)
    if (why !== undefined) return { state: 'not_billed', why }
  }
  if (opening.type !== 'TaskRequested') return { state: 'running', hold: '0' }
  const { hold } = opening.data.quote
  const withheld = events.findLast(isWithheld)
  if (withheld !== undefined) {
    const isDoubted = withheld.data.reported !== undefined
    return { state: 'awaiting_usage', hold, isDoubted }
  }
  const isKnown = events.some(({ type }) => type === 'TaskSubmitted')
  const isUncertain = events.some(({ type }) => type === 'TaskSubmissionUncertain')
  return { state: isUncertain && !isKnown ? 'unknown' : 'running', hold }
}
