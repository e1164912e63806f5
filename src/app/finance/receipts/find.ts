import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { correctionsOf, linesByIds } from '../../../../projections/ledger/query.ts'
import { historyOf, type TimelineScope } from '../../../../projections/timeline/query.ts'
import type { ExpiryCatalog } from '../../../domain/catalog/latest-end.ts'
import type { RecordedEvent } from '../../../eventlog/log/types.ts'
import { callIdOfAnswer } from '../../../kernel/ids.ts'
import { eventOfItem } from '../../read-models/timeline-event.ts'
import { writeReceipt } from './receipt.ts'
import { isOpening, type Opening, receiptStatusOf } from './status.ts'
import type { Receipt } from './types.ts'

/** Maximum number of events read to resolve an id: a request may refresh a page of tasks. */
const MAX_RECEIPT_EVENTS = 10_000
/** Most corrections shown in one receipt. */
const MAX_RECEIPT_CORRECTIONS = 1_000

export type FoundReceipt =
  | {
      readonly receipt: Receipt
      readonly opening: Opening
      /** All events of the task or the call, oldest first. */
      readonly events: readonly RecordedEvent[]
    }
  /** The ledger must reach this position of the log first. */
  | { readonly behind: bigint }

/** Whether nothing else in the log can change the receipt. */
export function isFinal(found: FoundReceipt | undefined): boolean {
  if (found === undefined) return false
  if ('behind' in found) return true
  return found.receipt.state === 'settled' || found.receipt.state === 'not_billed'
}

/** The name of a line: its source and its number. */
const lineName = /^(.+):([1-9]\d{0,3})$/
/** Prefix of request ids, which distinguishes a request from the tasks and calls that it began. */
const REQUEST = 'req_'

/**
 * Finds the opening event with that id, the last of several; for a request, that of the task or
 * call it began.
 */
function openingOf(id: string, events: readonly RecordedEvent[]): Opening | undefined {
  return events
    .filter(isOpening)
    .findLast(({ data }) => !id.startsWith(REQUEST) || data.requestId === id)
}

/**
 * The receipt for an id within a scope: a task by platform or native id, a call or its answer, the
 * request that began either, or one of its ledger lines. Undefined when there is nothing.
 */
export async function findReceipt(
  db: Queryable,
  id: string,
  scope: TimelineScope,
  catalog: ExpiryCatalog,
): Promise<FoundReceipt | undefined> {
  const ofLine = lineName.exec(id)?.[1]
  const wanted = ofLine ?? callIdOfAnswer(id)
  const { items } = await historyOf(db, wanted, scope, { limit: MAX_RECEIPT_EVENTS })
  const found = items.map((item) => ({ item, event: eventOfItem(item) }))
  const opening = openingOf(
    wanted,
    found.map(({ event }) => event),
  )
  if (opening === undefined) return undefined
  const sourceId = 'platformId' in opening.data ? opening.data.platformId : opening.data.callId
  if (ofLine !== undefined && ofLine !== sourceId) return undefined
  const own = found.filter(({ item }) => item.sourceId === sourceId)
  const events = own.map(({ event }) => event)
  const status = receiptStatusOf(opening, events)
  const count = status.state === 'settled' ? status.settlement.lines.length : 0
  // Lines are numbered from 1.
  const lineIds = Array.from({ length: count }, (_, index) => `${sourceId}:${index + 1}`)
  const [lines, corrections] = await Promise.all([
    linesByIds(db, lineIds),
    correctionsOf(db, lineIds, MAX_RECEIPT_CORRECTIONS),
  ])
  if (status.state === 'settled' && lines.length < count) return { behind: status.position }
  if (ofLine !== undefined && !lines.some(({ lineId }) => lineId === id)) return undefined
  const nativeId = own[0]?.item.nativeId
  const receipt = writeReceipt({ opening, events, nativeId, lines, corrections, catalog })
  return { receipt, opening, events }
}
