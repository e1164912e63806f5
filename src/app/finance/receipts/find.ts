import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { correctionsOf, linesOfSource } from '../../../../projections/ledger/query.ts'
import { historyOf, type TimelineScope } from '../../../../projections/timeline/query.ts'
import type { RecordedEvent } from '../../../eventlog/log/types.ts'
import { eventOfItem } from '../../read-models/timeline-event.ts'
import { writeReceipt } from './receipt.ts'
import { isOpening, type Opening, standingOf } from './standing.ts'
import type { Receipt } from './types.ts'

/** Events that are looked through for what an id stands for: a request may refresh a page of tasks. */
export const MAX_RECEIPT_EVENTS = 10_000
/** Corrections of one receipt that are shown. */
export const MAX_RECEIPT_CORRECTIONS = 1_000

export type FoundReceipt =
  | { readonly receipt: Receipt }
  /** The ledger has to come to this position of the log first. */
  | { readonly behind: bigint }

/** Whether it can stand as it was found: nothing that the log holds besides makes it another. */
export function isFinal(found: FoundReceipt | undefined): boolean {
  if (found === undefined) return false
  if ('behind' in found) return true
  return found.receipt.state === 'settled' || found.receipt.state === 'not_billed'
}

/** A line is named by what it is of and its number. */
const lineName = /^(.+):([1-9]\d{0,3})$/
/** Letters by which a request is told from what it began. */
const REQUEST = 'req_'

/** Of several that share an id, the one that began last; of a request, what that began. */
function openingOf(id: string, events: readonly RecordedEvent[]): Opening | undefined {
  return events
    .filter(isOpening)
    .findLast(({ data }) => !id.startsWith(REQUEST) || data.requestId === id)
}

/**
 * The receipt of what an id stands for within a scope: a task by platform or native id, a call, the
 * request that began either, or one of its ledger lines. Undefined where there is nothing.
 */
export async function findReceipt(
  db: Queryable,
  id: string,
  scope: TimelineScope,
): Promise<FoundReceipt | undefined> {
  const ofLine = lineName.exec(id)?.[1]
  const wanted = ofLine ?? id
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
  const standing = standingOf(opening, events)
  const count = standing.state === 'settled' ? standing.settlement.lines.length : 0
  // Lines are numbered from 1: what corrects them need not wait for them.
  const lineIds = Array.from({ length: count }, (_, index) => `${sourceId}:${index + 1}`)
  const [lines, corrections] = await Promise.all([
    count === 0 ? [] : linesOfSource(db, sourceId, count),
    correctionsOf(db, lineIds, MAX_RECEIPT_CORRECTIONS),
  ])
  if (standing.state === 'settled' && lines.length < count) return { behind: standing.position }
  if (ofLine !== undefined && !lines.some(({ lineId }) => lineId === id)) return undefined
  const nativeId = own[0]?.item.nativeId
  return { receipt: writeReceipt({ opening, events, nativeId, lines, corrections }) }
}
