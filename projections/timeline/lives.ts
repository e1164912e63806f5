import type { AnyEventType } from '../../src/domain/any-event.ts'
import type { BilledLifeKind } from '../../src/domain/lives.ts'
import type { Queryable } from '../engine/queryable.ts'
import { columns, type ItemRecord, tables, type TimelineItem, toItem } from './items.ts'
import { failureCodeSql } from './failures.ts'
import { failureTypes, typesSql } from './tables.ts'

/** Lives that are billed, by their beginnings: so the lives of a tenant are listed. */

/** Events that begin a task, or are all of a call, by the kind of the life. */
const openings = {
  task: ['TaskRequested'],
  call: ['CallSettled', 'CallFailed', 'CallWrittenOff'],
} as const satisfies Record<BilledLifeKind, readonly AnyEventType[]>

/** An absent member does not filter. */
export interface LivesFilter {
  readonly tenantId: string
  readonly userIds: readonly string[] | undefined
  readonly tokenId: string | undefined
  readonly kinds: readonly BilledLifeKind[]
  /** External name. */
  readonly model: string | undefined
  readonly state: LifeState | undefined
  /** Code of a failure of the life. */
  readonly code: string | undefined
  /** Time of recording of its beginning: unix milliseconds, inclusive. */
  readonly fromMs: number | undefined
  /** Unix milliseconds, exclusive. */
  readonly toMs: number | undefined
  /** Position of the log after which nothing counts. */
  readonly asOf: bigint
  /** Position of the log after which an event of the life must be. */
  readonly since: bigint | undefined
}

const settledTypes = ['CallSettled', 'TaskSettled'] as const satisfies readonly AnyEventType[]
/** Events that end a life without a bill. */
const unbilledTypes = [
  'CallFailed',
  'CallWrittenOff',
  'TaskFailed',
  'TaskSubmissionRefused',
  'TaskCancelled',
  'TaskExpired',
] as const satisfies readonly AnyEventType[]

/** How a life stands, as in its receipt. */
export const lifeStates = ['settled', 'not_billed', 'running', 'awaiting_usage', 'unknown'] as const
export type LifeState = (typeof lifeStates)[number]

/** Conditions that a life has this state, given how to ask whether it has an event. */
function stateConditions(
  state: LifeState,
  has: (types: readonly AnyEventType[], also?: string) => string,
): readonly string[] {
  if (state === 'settled') return [has(settledTypes)]
  const isSettled = `not ${has(settledTypes)}`
  if (state === 'not_billed') return [isSettled, has(unbilledTypes)]
  const isOpen = [isSettled, `not ${has(unbilledTypes)}`]
  const isMade = has(['TaskStatusChanged'], `s.data->>'awaitsUsage' = 'true'`)
  if (state === 'awaiting_usage') return [...isOpen, isMade]
  const isUnknown = `(${has(['TaskSubmissionUncertain'])} and not ${has(['TaskSubmitted'])})`
  return [...isOpen, `not ${isMade}`, state === 'unknown' ? isUnknown : `not ${isUnknown}`]
}

/** A place in the list: the time and the position of a beginning. */
const placeForm = /^(\d{1,14})\.(\d{1,18})$/

/** Whether a text is a place in the list, so that it can be read on after it. */
export const isLifePlace = (text: string): boolean => placeForm.test(text)

function conditionsOf(filter: LivesFilter, after: string | undefined, values: unknown[]): string {
  const add = (value: unknown): string => `$${values.push(value)}`
  const types = filter.kinds.flatMap((kind) => openings[kind])
  const tenantId = add(filter.tenantId)
  const asOf = `${add(String(filter.asOf))}::bigint`
  const conditions = [
    `e.tenant_id = ${tenantId}`,
    `e.${typesSql(types)}`,
    `e.position <= ${asOf}`,
    // A settlement that came twice begins nothing.
    `not exists (select from timeline.events b
       where b.source_id = e.source_id and b.position < e.position)`,
  ]
  const { userIds, tokenId, fromMs, toMs, since, model, state, code } = filter
  const has = (kinds: readonly AnyEventType[], also = 'true'): string =>
    `exists (select from timeline.events s where s.source_id = e.source_id
       and s.${typesSql(kinds)} and s.position <= ${asOf} and ${also})`
  if (model !== undefined) conditions.push(`e.data->>'model' = ${add(model)}`)
  if (state !== undefined) conditions.push(...stateConditions(state, has))
  if (code !== undefined)
    conditions.push(has(failureTypes, `${failureCodeSql('s')} = ${add(code)}`))
  if (userIds !== undefined) conditions.push(`e.user_id = any(${add(userIds)}::text[])`)
  if (tokenId !== undefined) conditions.push(`e.data->>'tokenId' = ${add(tokenId)}`)
  if (fromMs !== undefined) conditions.push(`e.at >= ${add(new Date(fromMs))}::timestamptz`)
  if (toMs !== undefined) conditions.push(`e.at < ${add(new Date(toMs))}::timestamptz`)
  if (since !== undefined)
    conditions.push(`e.source_id in (select n.source_id from timeline.events n
      where n.tenant_id = ${tenantId} and n.position > ${add(String(since))}::bigint
        and n.position <= ${asOf})`)
  const [, atMs, position] = placeForm.exec(after ?? '') ?? []
  if (atMs !== undefined)
    conditions.push(
      `(e.at, e.position) < (${add(new Date(Number(atMs)))}::timestamptz, ${add(position)}::bigint)`,
    )
  return conditions.join(' and ')
}

/** The beginnings of a page of lives, the newest first; `after` is a `next` of the same list. */
async function beginningsIn(
  db: Queryable,
  filter: LivesFilter,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<{ readonly sourceIds: readonly string[]; readonly next: string | undefined }> {
  const values: unknown[] = []
  const conditions = conditionsOf(filter, after, values)
  const { rows } = await db.query<{ source_id: string; at: Date; position: string }>(
    `select e.source_id, e.at, e.position from timeline.events e where ${conditions}
     order by e.at desc, e.position desc limit $${values.push(limit + 1)}`,
    values,
  )
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next = rows.length > limit && last ? `${last.at.getTime()}.${last.position}` : undefined
  return { sourceIds: shown.map((row) => row.source_id), next }
}

/** A page of lives, each with its events, notes left out: the newest life first, its events in their order. */
export async function livesIn(
  db: Queryable,
  filter: LivesFilter,
  page: { readonly after: string | undefined; readonly limit: number },
): Promise<{
  readonly items: readonly (readonly TimelineItem[])[]
  readonly next: string | undefined
}> {
  const { sourceIds, next } = await beginningsIn(db, filter, page)
  if (sourceIds.length === 0) return { items: [], next }
  const { rows } = await db.query<ItemRecord>({
    name: 'timeline.lives',
    text: `select ${columns} from ${tables}
           where e.source_id = any($1::text[]) and e.position <= $2::bigint
             and e.type <> 'NotePosted'
           order by e.position`,
    values: [sourceIds, String(filter.asOf)],
  })
  const eventsOf = new Map<string, TimelineItem[]>(sourceIds.map((id) => [id, []]))
  for (const row of rows) eventsOf.get(row.source_id ?? '')?.push(toItem(row))
  return { items: [...eventsOf.values()], next }
}
