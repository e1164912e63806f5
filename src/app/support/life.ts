import type { Queryable } from '../../../projections/engine/queryable.ts'
import { pollProgress } from '../../../projections/tasks/query.ts'
import {
  historyOf,
  type TimelineItem,
  type TimelineScope,
} from '../../../projections/timeline/query.ts'
import { sourceOf } from '../../domain/any-event.ts'
import type { ExpiryCatalog } from '../../domain/catalog/latest-end.ts'
import { isUnbilled, type LifeKind, lifeKindOf } from '../../domain/lives.ts'
import type { Note } from '../../domain/note/events.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { formatDuration } from '../../kernel/duration.ts'
import { findReceipt } from '../finance/receipts/find.ts'
import { latestEndOf } from '../finance/receipts/receipt.ts'
import type { Opening } from '../finance/receipts/status.ts'
import type { Receipt } from '../finance/receipts/types.ts'
import { eventOfItem } from '../read-models/timeline-event.ts'
import { type KeptResult, keptResultOf, type UrlsEndOf } from './kept-result.ts'
import { type RelatedLife, relatedToRequest, usersOfAsset } from './related.ts'
import { type Step, stepsOf } from './steps.ts'

/** A life: all that the log says of one task, call, asset, file or the like, as support sees it. */

/** Most events of one life: an asset that is used often has most. */
const MAX_LIFE_EVENTS = 10_000

/** A note that support wrote about a life. */
export interface LifeNote extends Note {
  /** Time at which the log recorded it, Unix milliseconds. */
  readonly atMs: number
}

/** Matches an id of the gateway or of a provider, or the name of a ledger line; hashes begin with any character. */
const possibleId = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}(?::[1-9]\d{0,3})?$/

/** Whether a text has the form of an id that a life may be found by. */
export function isLifeId(text: string): boolean {
  return possibleId.test(text)
}

export interface Life {
  /** The gateway's id. */
  readonly id: string
  readonly kind: LifeKind
  readonly tenantId: string
  readonly userId: string | undefined
  /** The state of its receipt; of a life without one, the title of its last step. */
  readonly state: string
  /** Sentences that the verdict of the receipt does not say. */
  readonly aside: readonly string[]
  /** Undefined for a life that costs nothing. */
  readonly receipt: Receipt | undefined
  /** From the request to its end; undefined before it, and for a life without a receipt. */
  readonly durationMs: number | undefined
  /** From the request to the first byte of a stream; undefined for others, and where none came. */
  readonly firstByteMs: number | undefined
  /** Whether its result is kept; undefined without one. */
  readonly result: KeptResult | undefined
  readonly steps: readonly Step[]
  /** Time at which it expires unless it ends before, Unix milliseconds; undefined once it has ended. */
  readonly deadlineAtMs: number | undefined
  /** Time at which the provider last answered about it, Unix milliseconds; undefined once it has ended. */
  readonly lastAskedAtMs: number | undefined
  /** How often the provider was asked about it; undefined once it has ended. */
  readonly polls: number | undefined
  /** Attempts upstream that its call needed. */
  readonly attempts: number
  /** The request named a URL that the provider calls; the gateway does not see whether it does. */
  readonly hasCallback: boolean
  readonly related: readonly RelatedLife[]
  /** Notes of support that the scope may see, oldest first. */
  readonly notes: readonly LifeNote[]
}

/**
 * Whether no later event of the life can change it, but a note, which its author waits for; refunds of its lines
 * are those up to the position.
 */
export function isLifeFinal(life: Life | undefined): boolean {
  return life?.state === 'settled' || life?.state === 'not_billed'
}

/** A gap in words: those below a minute in seconds, also the shortest. */
function gapWords(ms: number): string {
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : formatDuration(ms)
}

const howOften = ['', 'once', 'twice', 'three times', 'four times']

/** Says that a request was sent again, and whether each time was charged. */
function repeatWords(
  receipt: Receipt,
  related: readonly RelatedLife[],
  hasKey: boolean,
): readonly string[] {
  const again = related.filter(({ why }) => why === 'same_body' || why === 'retry')
  if (again.length === 0) return []
  const times = [0, ...again.map(({ afterMs }) => afterMs)].toSorted((a, b) => a - b)
  const lasted = (times.at(-1) ?? 0) - (times[0] ?? 0)
  const charged = again.filter(({ amount }) => amount !== undefined && amount !== '0').length
  const charges = charged + (receipt.state === 'settled' && receipt.amount !== '0' ? 1 : 0)
  const often = howOften[times.length] ?? `${times.length} times`
  const without = hasKey ? '' : ', without a key'
  const paid = charges === 1 ? 'one charge' : charges === 0 ? 'no charge' : `${charges} charges`
  const gap = times.length === 2 ? `${gapWords(lasted)} apart` : `within ${gapWords(lasted)}`
  return [`The same request was sent ${often}, ${gap}${without}: ${paid}.`]
}

const CALLBACK_WORDS =
  "The provider calls the caller's callback URL itself: the gateway does not see whether it did."

/**
 * The deadline of a task after its events: one that the provider has is asked for longer, and a
 * worker that begins one may set another.
 */
function deadlineOf(
  opening: Opening,
  events: readonly RecordedEvent[],
  catalog: ExpiryCatalog,
): number | undefined {
  if (opening.type !== 'TaskRequested') return undefined
  if (events.some(({ type }) => type === 'TaskSubmitted')) return latestEndOf(opening, catalog)
  const begun = events.findLast((event) => event.type === 'TaskStarted')
  return fromTimestamp(
    begun?.type === 'TaskStarted' ? begun.data.expiresAt : opening.data.expiresAt,
  )
}

/** How many channels were asked, as the event of the outcome says. */
function attemptsOf(events: readonly RecordedEvent[]): number {
  const counts = events.map(({ data }) => ('attempts' in data ? data.attempts : undefined) ?? 1)
  return Math.max(1, ...counts)
}

/** When a request began and when it ended, by its steps, Unix milliseconds. */
function extentOf(steps: readonly Step[]) {
  const [first] = steps
  const last = steps.findLast(({ state }) => state === 'done' || state === 'failed') ?? first
  return { fromMs: first?.startedAtMs ?? first?.atMs ?? 0, toMs: last?.atMs ?? 0 }
}

function notesIn(events: readonly RecordedEvent[]): readonly LifeNote[] {
  return events.flatMap((event) =>
    event.type === 'NotePosted' ? [{ ...event.data, atMs: event.recordedAt.getTime() }] : [],
  )
}

/** Facts of a life that no event has. */
interface KnownFacts {
  readonly catalog: ExpiryCatalog
  readonly urlsEndOf: UrlsEndOf
}

async function lifeOfRequest(
  db: Queryable,
  scope: TimelineScope,
  found: {
    readonly receipt: Receipt
    readonly opening: Opening
    readonly events: readonly RecordedEvent[]
  },
  known: KnownFacts,
): Promise<Life> {
  const { receipt, opening, events } = found
  const { sourceId: id, kind, tenantId, userId, state } = receipt
  const hasEnded = state === 'settled' || state === 'not_billed'
  const steps = stepsOf(events, receipt.corrections)
  const { fromMs, toMs } = extentOf(steps)
  const [related, progress, result] = await Promise.all([
    relatedToRequest(db, scope, opening, id),
    kind === 'task' && !hasEnded ? pollProgress(db, id) : undefined,
    keptResultOf(known.urlsEndOf, opening, receipt, toMs),
  ])
  const hasCallback = 'callback' in opening.data
  return {
    id,
    kind,
    tenantId,
    userId,
    state,
    aside: [
      ...repeatWords(receipt, related, 'idempotency' in opening.data),
      ...(hasCallback ? [CALLBACK_WORDS] : []),
    ],
    receipt,
    durationMs: hasEnded ? toMs - fromMs : undefined,
    firstByteMs: 'firstByteMs' in opening.data ? opening.data.firstByteMs : undefined,
    result,
    steps,
    deadlineAtMs: hasEnded ? undefined : deadlineOf(opening, events, known.catalog),
    lastAskedAtMs: progress?.observedAtMs ?? undefined,
    polls: progress?.polls,
    attempts: attemptsOf(events),
    hasCallback,
    related,
    notes: notesIn(events),
  }
}

/** The life of something that costs nothing, by the last thing that an id stands for. */
async function lifeWithoutReceipt(
  db: Queryable,
  id: string,
  scope: TimelineScope,
): Promise<Life | undefined> {
  const { items } = await historyOf(db, id, scope, { limit: MAX_LIFE_EVENTS })
  const ofKind = items.flatMap((item) => {
    const kind = lifeKindOf(item.type)
    return isUnbilled(kind) ? [{ item, kind }] : []
  })
  const last = ofKind.at(-1)
  const sourceId = last && sourceOf(eventOfItem(last.item))
  if (last === undefined || sourceId === undefined) return undefined
  const { kind } = last
  const { tenantId, userId } = last.item
  const isOfLife = ({ type }: TimelineItem): boolean =>
    type === 'NotePosted' || isUnbilled(lifeKindOf(type))
  const events = items
    .filter((item) => item.sourceId === sourceId && isOfLife(item))
    .map(eventOfItem)
  const steps = stepsOf(events, [])
  return {
    id: sourceId,
    kind,
    tenantId,
    userId,
    state: steps.findLast(({ state }) => state !== 'moved')?.title ?? '',
    aside: [],
    receipt: undefined,
    durationMs: undefined,
    firstByteMs: undefined,
    result: undefined,
    steps,
    deadlineAtMs: undefined,
    lastAskedAtMs: undefined,
    polls: undefined,
    attempts: 1,
    hasCallback: false,
    related: kind === 'asset' ? await usersOfAsset(db, scope, sourceId, events) : [],
    notes: notesIn(events),
  }
}

/**
 * Finds the life of an id within a scope: every id that a receipt or a history is found by. Its money is as of a
 * position that the ledger has reached. Undefined when there is nothing.
 */
export async function findLife(
  db: Queryable,
  id: string,
  scope: TimelineScope,
  known: KnownFacts & { readonly asOf: bigint },
): Promise<Life | undefined> {
  const found = await findReceipt(db, id, scope, known)
  return found === undefined
    ? lifeWithoutReceipt(db, id, scope)
    : lifeOfRequest(db, scope, found, known)
}
