import type { Settlement } from '../../../domain/pricing/settlement.ts'
import type { RecordedEvent } from '../../../eventlog/log/types.ts'

/** The money status of a task or a call, by its events. */
export type ReceiptStatus =
  | { readonly state: 'settled'; readonly settlement: Settlement; readonly position: bigint }
  /** `why` completes the sentence that nothing is billed. */
  | { readonly state: 'not_billed'; readonly why: string }
  /** The amount held; `unknown` when the model service may have accepted it. */
  | { readonly state: 'running' | 'unknown'; readonly hold: string }

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
  if (event.type === 'TaskFailed') return `the task failed (${event.data.code})`
  if (event.type === 'TaskSubmissionRefused')
    return `the task was refused before it began (${event.data.code})`
  if (event.type === 'TaskCancelled') return 'the task was cancelled'
  if (event.type !== 'TaskExpired') return undefined
  return event.data.reason === 'deadline'
    ? 'no end of the task was seen by its deadline'
    : 'the task expired'
}

/** The status after the events, in their order. */
export function receiptStatusOf(opening: Opening, events: readonly RecordedEvent[]): ReceiptStatus {
  for (const event of events)
    if (event.type === 'TaskSettled' || event.type === 'CallSettled') {
      const { position } = event
      return { state: 'settled', settlement: event.data.settlement, position }
    }
  for (const event of events) {
    const why = unbilledBy(event)
    if (why !== undefined) return { state: 'not_billed', why }
  }
  const hold = opening.type === 'TaskRequested' ? opening.data.quote.hold : '0'
  const isKnown = events.some(({ type }) => type === 'TaskSubmitted')
  const isUncertain = events.some(({ type }) => type === 'TaskSubmissionUncertain')
  return { state: isUncertain && !isKnown ? 'unknown' : 'running', hold }
}
