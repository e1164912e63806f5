import type { Queryable } from '../../../projections/engine/queryable.ts'
import {
  livesIn,
  type LivesFilter,
  type TimelineItem,
} from '../../../projections/timeline/query.ts'
import type { BilledLifeKind } from '../../domain/lives.ts'
import { unreachable } from '../../kernel/assert.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import {
  isOpening,
  type Opening,
  type ReceiptStatus,
  receiptStatusOf,
} from '../finance/receipts/status.ts'
import { eventOfItem } from '../read-models/timeline-event.ts'
import { stepsOf } from './steps.ts'

/** Lives of a tenant as rows of a list: how each stands after its own events, in the words of its steps. */

export interface ListedLife {
  readonly id: string
  readonly kind: BilledLifeKind
  readonly tenantId: string
  readonly userId: string | undefined
  readonly tokenId: string
  readonly model: string
  readonly requestId: string
  readonly tags: Readonly<Record<string, string>> | undefined
  /** The tenant's id of its end user. */
  readonly endUser: string | undefined
  /** Time at which the log recorded its first event, Unix milliseconds. */
  readonly atMs: number
  readonly state: ReceiptStatus['state']
  /** Title of its last step. */
  readonly lastStep: string
  /** Time at which the log recorded it, Unix milliseconds. */
  readonly lastAtMs: number
  /** From the request to its end; undefined while it has not ended, and where its end is not known. */
  readonly durationMs: number | undefined
  /** Undefined for a call that failed. */
  readonly currency: string | undefined
  readonly held: string
  readonly charged: string
}

function currencyOf(opening: Opening): string | undefined {
  if (opening.type === 'TaskRequested') return opening.data.quote.currency
  return opening.type === 'CallSettled' ? opening.data.settlement.currency : undefined
}

/** When a request began, and the end of a call, by their own times. */
function timesOf({ type, data }: Opening): { begunAt: string; endedAt?: string } {
  switch (type) {
    case 'TaskRequested':
      return { begunAt: data.requestedAt }
    case 'CallSettled':
      return { begunAt: data.startedAt, endedAt: data.settledAt }
    case 'CallFailed':
      return { begunAt: data.startedAt, endedAt: data.failedAt }
    case 'CallWrittenOff':
      return { begunAt: data.startedAt }
    default:
      return unreachable(type)
  }
}

/** Events that end a task. */
const endTypes: ReadonlySet<string> = new Set([
  'TaskSettled',
  'TaskFailed',
  'TaskSubmissionRefused',
  'TaskCancelled',
  'TaskExpired',
])

function durationOf(opening: Opening, items: readonly TimelineItem[]): number | undefined {
  const { begunAt, endedAt } = timesOf(opening)
  const endedAtMs =
    endedAt === undefined
      ? items.find(({ type }) => endTypes.has(type))?.atMs
      : fromTimestamp(endedAt)
  return endedAtMs === undefined ? undefined : Math.max(0, endedAtMs - fromTimestamp(begunAt))
}

function listedLife(items: readonly TimelineItem[]): readonly ListedLife[] {
  const events = items.map(eventOfItem)
  const [first] = items
  const opening = events.find(isOpening)
  const last = stepsOf(events, []).at(-1)
  if (first === undefined || opening === undefined || last === undefined) return []
  const { data } = opening
  return [
    {
      id: 'platformId' in data ? data.platformId : data.callId,
      kind: opening.type === 'TaskRequested' ? 'task' : 'call',
      tenantId: first.tenantId,
      userId: first.userId,
      tokenId: data.tokenId,
      model: data.model,
      requestId: data.requestId,
      tags: data.tags,
      endUser: data.endUser,
      atMs: first.atMs,
      state: receiptStatusOf(opening, events).state,
      lastStep: last.title,
      lastAtMs: last.atMs,
      durationMs: durationOf(opening, items),
      currency: currencyOf(opening),
      held: last.after.held,
      charged: last.after.charged,
    },
  ]
}

/** A page of the lives of a tenant, the newest first; `after` is a `next` of the same list. */
export async function beginningLives(
  db: Queryable,
  filter: LivesFilter,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<{ readonly items: readonly ListedLife[]; readonly next: string | undefined }> {
  const { items, next } = await livesIn(db, filter, page)
  return { items: items.flatMap(listedLife), next }
}
