import type { Queryable } from '../engine/queryable.ts'
import { columns, type ItemRecord, tables, type TimelineItem, toItem } from './items.ts'
import { type ChangeType, isChangeSql } from './tables.ts'

/** Changes of tenants by people and commands: who made each, and what stood before it. */

/** An absent member does not filter. */
export interface ChangesFilter {
  readonly tenantId: string | undefined
  readonly types: readonly ChangeType[]
  /** Tokens and names at a shell, as the metadata of events has them. */
  readonly actors: readonly string[] | undefined
  readonly userId: string | undefined
  readonly tokenId: string | undefined
  /** Time of recording: Unix milliseconds, inclusive. */
  readonly fromMs: number | undefined
  /** Unix milliseconds, exclusive. */
  readonly toMs: number | undefined
  /** Position of the log after which nothing counts. */
  readonly asOf: bigint
}

/** A place in the list: the time and the position of a change. */
const placeForm = /^(\d{1,14})\.(\d{1,18})$/

/** Whether a text is a place in the list, so that it can be read on after it. */
export const isChangePlace = (text: string): boolean => placeForm.test(text)

/** Reads a place: its time in Unix milliseconds, and its position; undefined: from the beginning. */
export function changePlace(
  text: string | undefined,
): { readonly atMs: number; readonly position: string } | undefined {
  const [, atMs, position] = placeForm.exec(text ?? '') ?? []
  return atMs === undefined || position === undefined ? undefined : { atMs: Number(atMs), position }
}

const actorSql = `(e.metadata->>'actor') collate "C"`

function conditionsOf(filter: ChangesFilter, after: string | undefined, values: unknown[]): string {
  const add = (value: unknown): string => `$${values.push(value)}`
  const { tenantId, types, actors, userId, tokenId, fromMs, toMs } = filter
  const conditions = [
    `e.${isChangeSql}`,
    `e.type = any(${add(types)}::text[])`,
    `e.position <= ${add(String(filter.asOf))}::bigint`,
  ]
  if (tenantId !== undefined) conditions.push(`e.tenant_id = ${add(tenantId)}`)
  if (actors !== undefined) conditions.push(`${actorSql} = any(${add(actors)}::text[])`)
  if (userId !== undefined) conditions.push(`e.user_id = ${add(userId)}`)
  if (tokenId !== undefined) conditions.push(`e.source_id = ${add(tokenId)}`)
  if (fromMs !== undefined) conditions.push(`e.at >= ${add(new Date(fromMs))}::timestamptz`)
  if (toMs !== undefined) conditions.push(`e.at < ${add(new Date(toMs))}::timestamptz`)
  const place = changePlace(after)
  if (place !== undefined)
    conditions.push(
      `(e.at, e.position) < (${add(new Date(place.atMs))}::timestamptz, ${add(place.position)}::bigint)`,
    )
  return conditions.join(' and ')
}

/** The newest changes behind a place in their list, at most `limit` of them. */
export async function changesIn(
  db: Queryable,
  filter: ChangesFilter,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<readonly TimelineItem[]> {
  const values: unknown[] = []
  const conditions = conditionsOf(filter, after, values)
  const { rows } = await db.query<ItemRecord>(
    `select ${columns} from ${tables} where ${conditions}
     order by e.at desc, e.position desc limit $${values.push(limit)}`,
    values,
  )
  return rows.map(toItem)
}

/** Whether any change was made by one of these actors, of a tenant or of all. */
export async function hasChanged(
  db: Queryable,
  actors: readonly string[],
  tenantId: string | undefined,
): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>({
    name: 'timeline.changed',
    text: `select exists (select from timeline.events e
             where e.${isChangeSql} and ${actorSql} = any($1::text[])
               and ($2::text is null or e.tenant_id = $2)) as found`,
    values: [actors, tenantId ?? null],
  })
  return rows[0]?.found === true
}

/** The change whose sides are compared with the one before it. */
export interface PrecedingChange {
  /** Position of the change. */
  readonly position: string
  readonly tenantId: string
  /** The token or the user that both are about; undefined: the tenant. */
  readonly sourceId: string | undefined
  readonly userId: string | undefined
  /** Types of the event before, of which the latest counts. */
  readonly types: readonly ChangeType[]
}

/** The event before each change, by the position of the change; one that has none is not in it. */
export async function changesBefore(
  db: Queryable,
  changes: readonly PrecedingChange[],
): Promise<ReadonlyMap<string, TimelineItem>> {
  if (changes.length === 0) return new Map()
  const column = <Value>(of: (change: PrecedingChange) => Value) => changes.map(of)
  const { rows } = await db.query<ItemRecord & { readonly change: string }>({
    name: 'timeline.changes.before',
    text: `select w.position as change, ${columns}
           from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
             as w (position, tenant_id, source_id, user_id, types)
           cross join lateral (
             select b.position from unnest(string_to_array(w.types, ' ')) as one (type)
             cross join lateral (
               select b.position from timeline.events b
               where w.source_id is null
                 and b.${isChangeSql} and b.tenant_id = w.tenant_id and b.type = one.type
                 and b.position < w.position and (w.user_id is null or b.user_id = w.user_id)
               order by b.position desc limit 1) b
             union all
             (select b.position from timeline.events b
              where b.source_id = w.source_id and b.type = any(string_to_array(w.types, ' '))
                and b.position < w.position
              order by b.position desc limit 1)
             order by 1 desc limit 1) found
           join timeline.events e on e.position = found.position
           left join timeline.sources s on s.source_id = e.source_id`,
    values: [
      column(({ position }) => position),
      column(({ tenantId }) => tenantId),
      column(({ sourceId }) => sourceId ?? null),
      column(({ userId }) => userId ?? null),
      column(({ types }) => types.join(' ')),
    ],
  })
  return new Map(rows.map((row) => [row.change, toItem(row)]))
}
