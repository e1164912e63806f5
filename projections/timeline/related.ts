import type { Queryable } from '../engine/queryable.ts'
import { byRequestSql, typesSql } from './tables.ts'

/** Events that begin a task, or are all of a call. */
const openingTypes = ['TaskRequested', 'CallSettled', 'CallFailed'] as const
const isOpeningSql = typesSql(openingTypes)

/** Time before and after an event in which others like it are looked for. */
export const NEAR_MS = 600_000
/** Most events of the owner that are looked through on either side of it. */
const MOST_LOOKED_THROUGH = 2_500
/** Most that one answer names. */
const MOST_FOUND = 50

/** A tenant, and those of its users whose requests may be seen; undefined: of all of them. */
interface Owner {
  readonly tenantId: string
  readonly userIds: readonly string[] | undefined
}

/** The begin of a task, or a call, with its facts. */
export interface RelatedOpening {
  readonly sourceId: string
  readonly type: (typeof openingTypes)[number]
  readonly atMs: number
  readonly data: Readonly<Record<string, unknown>>
}

interface OpeningRecord extends Omit<RelatedOpening, 'sourceId' | 'atMs'> {
  readonly source_id: string
  readonly at: Date
}

const toOpening = ({ source_id: sourceId, at, ...row }: OpeningRecord): RelatedOpening => ({
  ...row,
  sourceId,
  atMs: at.getTime(),
})

/** Limits rows to the tenant `$1`, and to its users `$2`, where a scope has some. */
const ofTenantSql = 'e.tenant_id = $1'
const ofUsersSql = '($2::text[] is null or e.user_id = any($2::text[]))'
const ofScopeSql = `${ofTenantSql} and ${ofUsersSql}`

/**
 * Finds what a token began ten minutes before or after an event of it, and whose facts have one of
 * these texts, such as a fingerprint. The texts are searched for before the facts are read as JSON,
 * because most facts have none of them.
 */
export async function openingsNear(
  db: Queryable,
  owner: Owner,
  opening: { readonly sourceId: string; readonly atMs: number; readonly tokenId: string },
  texts: readonly string[],
): Promise<readonly RelatedOpening[]> {
  if (texts.length === 0) return []
  const side = (condition: string, order: 'asc' | 'desc'): string =>
    `(select e.source_id, e.user_id, e.type, e.at, e.position, e.data from timeline.events e
      where ${ofScopeSql} and ${condition}
      order by e.at ${order}, e.position ${order} limit ${MOST_LOOKED_THROUGH})`
  const { rows } = await db.query<OpeningRecord>({
    name: 'timeline.near',
    text: `select e.source_id, e.type, e.at, e.data from (
             ${side(`e.at < $3::timestamptz and e.at >= $3::timestamptz - interval '${NEAR_MS} ms'`, 'desc')}
             union all
             ${side(`e.at >= $3::timestamptz and e.at < $3::timestamptz + interval '${NEAR_MS} ms'`, 'asc')}
           ) e
           where e.${isOpeningSql} and e.source_id <> $4
             and exists (select from unnest($6::text[]) w where strpos(e.data::text, w) > 0)
             and e.data->>'tokenId' = $5
           order by e.at, e.position limit ${MOST_FOUND}`,
    values: [
      owner.tenantId,
      owner.userIds ?? null,
      new Date(opening.atMs),
      opening.sourceId,
      opening.tokenId,
      texts,
    ],
  })
  return rows.map(toOpening)
}

/** Finds what these requests began, the newest first. */
export async function openingsOfRequests(
  db: Queryable,
  owner: Owner,
  requestIds: readonly string[],
): Promise<readonly RelatedOpening[]> {
  if (requestIds.length === 0) return []
  const { rows } = await db.query<OpeningRecord>({
    name: 'timeline.of-requests',
    text: `select e.source_id, e.type, e.at, e.data from timeline.events e
           where ${ofScopeSql} and (e.metadata->>'correlationId') collate "C" = any($3::text[])
             and e.${byRequestSql}
             and e.${isOpeningSql}
           order by e.position desc limit ${MOST_FOUND}`,
    values: [owner.tenantId, owner.userIds ?? null, requestIds],
  })
  return rows.map(toOpening)
}

/** Finds the tasks that name an asset among the newest events of its tenant, the newest first. */
export async function tasksNaming(
  db: Queryable,
  owner: Owner,
  assetId: string,
): Promise<readonly RelatedOpening[]> {
  const { rows } = await db.query<OpeningRecord>({
    name: 'timeline.naming',
    text: `select e.source_id, e.type, e.at, e.data from (
             select e.source_id, e.user_id, e.type, e.at, e.position, e.data from timeline.events e
             where ${ofTenantSql} order by e.position desc limit ${2 * MOST_LOOKED_THROUGH}
           ) e
           where ${ofUsersSql} and e.type = 'TaskRequested' and strpos(e.data::text, $3) > 0
             and e.data::jsonb->'assetIds' ? $3
           order by e.position desc limit ${MOST_FOUND}`,
    values: [owner.tenantId, owner.userIds ?? null, assetId],
  })
  return rows.map(toOpening)
}

/** When things began, Unix milliseconds by their id; without those that the owner may not see. */
export async function beginningsOf(
  db: Queryable,
  owner: Owner,
  sourceIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (sourceIds.length === 0) return new Map()
  const { rows } = await db.query<{ source_id: string; at: Date }>({
    name: 'timeline.beginnings',
    text: `select s.source_id, e.at from timeline.sources s
           join timeline.events e on e.position = s.position
           where s.source_id = any($3::text[]) and ${ofScopeSql}`,
    values: [owner.tenantId, owner.userIds ?? null, sourceIds],
  })
  return new Map(rows.map(({ source_id: id, at }) => [id, at.getTime()]))
}
