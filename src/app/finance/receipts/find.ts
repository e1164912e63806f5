import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { refundsOfLines, linesByIds } from '../../../../projections/ledger/query.ts'
import { historyOf, type TimelineScope } from '../../../../projections/timeline/query.ts'
import type { ExpiryCatalog } from '../../../domain/catalog/latest-end.ts'
import type { RecordedEvent } from '../../../eventlog/log/types.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { callIdOfAnswer } from '../../../kernel/ids.ts'
import { eventOfItem } from '../../read-models/timeline-event.ts'
import { writeReceipt } from './receipt.ts'
import { isOpening, type Opening, receiptStatusOf } from './status.ts'
import type { Receipt } from './types.ts'

/** Maximum number of events read to resolve an id: a request may refresh a page of tasks. */
const MAX_RECEIPT_EVENTS = 10_000
/** Most refunds shown in one receipt. */
const MAX_RECEIPT_CORRECTIONS = 1_000

export interface FoundReceipt {
  readonly receipt: Receipt
  readonly opening: Opening
  /** All events of the task or the call up to the position, oldest first. */
  readonly events: readonly RecordedEvent[]
}

/** Whether no later event of the task or call can change the receipt: only refunds of its lines can. */
export function isFinal(found: Pick<FoundReceipt, 'receipt'> | undefined): boolean {
  const state = found?.receipt.state
  return state === 'settled' || state === 'not_billed'
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
 * request that began either, or one of its ledger lines, as of a position that the ledger has reached. Undefined when
 * there is nothing.
 */
export async function findReceipt(
  db: Queryable,
  id: string,
  scope: TimelineScope,
  { catalog, asOf }: { readonly catalog: ExpiryCatalog; readonly asOf: bigint },
): Promise<FoundReceipt | undefined> {
  const ofLine = lineName.exec(id)?.[1]
  const wanted = ofLine ?? callIdOfAnswer(id)
  const { items } = await historyOf(db, wanted, scope, { limit: MAX_RECEIPT_EVENTS })
  const found = items
    .filter(({ position }) => BigInt(position) <= asOf)
    .map((item) => ({ item, event: eventOfItem(item) }))
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
    linesByIds(db, lineIds, asOf),
    refundsOfLines(db, lineIds, { asOf, limit: MAX_RECEIPT_CORRECTIONS }),
  ])
  if (lines.length < count)
    throw new DomainError('read_model_behind', 'the ledger has not reached the settlement', {})
  if (ofLine !== undefined && !lines.some(({ lineId }) => lineId === id)) return undefined
  const nativeId = own[0]?.item.nativeId
  const receipt = writeReceipt({ opening, events, nativeId, lines, corrections, catalog, asOf })
  return { receipt, opening, events }
}
