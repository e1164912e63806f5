import { searchForm } from '../../src/kernel/characters.ts'
import type { Queryable } from '../engine/queryable.ts'
import { beginsSql, MAX_IDS_READ, scopeSql, type SearchScope } from '../engine/search.ts'
import { byRequestSql, isNoteSql, ofCallSql } from './tables.ts'

/** Tasks, calls, files and whatever else has events, by the beginnings of their names. */

/** The indexes by which they are found. */
const namings = {
  /** The gateway's ids of all but calls. */
  source: { table: 'timeline.sources', column: 'source_id', of: 'true' },
  call: { table: 'timeline.events', column: 'source_id', of: ofCallSql },
  /** The ids of providers. */
  nativeId: { table: 'timeline.sources', column: 'native_id', of: 'true' },
  /** Native ids of tasks: those of the asset library are seen by operators alone. */
  task: { table: 'timeline.sources', column: 'native_id', of: `source_id !~ '^(asset|group)-'` },
  /** The ids of requests, `x-request-id` of their answers. */
  request: { table: 'timeline.events', column: `(metadata->>'correlationId')`, of: byRequestSql },
} as const
export type SourceNaming = keyof typeof namings

/** Ids of sources in order, and whether more of the scope's own rows begin so than are read. */
export interface FoundSources {
  readonly ids: readonly string[]
  readonly isCut: boolean
}

/** Ids of the sources whose name begins so; of the scope, 5,000 names are read, and one more shows that there are more. */
export async function sourcesByPrefix(
  db: Queryable,
  by: { readonly naming: SourceNaming; readonly prefix: string },
  scope: SearchScope,
  limit: number,
): Promise<FoundSources> {
  const { table, column, of } = namings[by.naming]
  const reads = { most: MAX_IDS_READ, order: `${column} collate "C"` }
  return sourcesOf(db, reads, limit, (add) => {
    return `${table} where ${beginsSql(column, by.prefix, add)} and ${of} and ${scopeSql(scope, add)}`
  })
}

/** Ids of the sources whose request had the `Idempotency-Key` of this hash. */
export async function sourcesByKey(
  db: Queryable,
  keyHash: string,
  scope: SearchScope,
  limit: number,
): Promise<FoundSources> {
  return sourcesOf(db, { most: MAX_IDS_READ, order: 'key_hash' }, limit, (add) => {
    return `timeline.events where key_hash = ${add(keyHash)} and ${scopeSql(scope, add)}`
  })
}

/** The most events that are read for an id which no index has. */
const MAX_EVENTS_READ = 20_000

/**
 * Ids of the sources of a tenant with an event that names this request id of a provider: no index has
 * these, so that the newest 20,000 events of the scope in a range of time are read.
 */
export async function sourcesByUpstreamRequest(
  db: Queryable,
  of: { readonly id: string; readonly fromMs: number; readonly toMs: number },
  scope: SearchScope & { readonly tenantId: string },
  limit: number,
): Promise<FoundSources> {
  const reads = { most: MAX_EVENTS_READ, order: 'at desc, position desc', upstreamId: of.id }
  return sourcesOf(db, reads, limit, (add) => {
    const [from, to] = [add(new Date(of.fromMs)), add(new Date(of.toMs))]
    return `timeline.events where at >= ${from} and at < ${to} and ${scopeSql(scope, add)}`
  })
}

/** The most notes that are read, the newest of the scope. */
const MAX_NOTES_READ = 2_000

/** Tenants that have notes, each found by one step in the index of notes. */
const notedOwnersSql = `owners (tenant_id) as (
  (select tenant_id from timeline.events where ${isNoteSql} order by tenant_id limit 1)
  union all
  select (select n.tenant_id from timeline.events n where n.${isNoteSql} and n.tenant_id > o.tenant_id
          order by n.tenant_id limit 1)
  from owners o where o.tenant_id is not null)`

/** Sources with the latest of their notes that was found. */
export interface NotedSources extends FoundSources {
  readonly notes: ReadonlyMap<string, string>
}

/**
 * Ids of the sources with a note that has all of these words, the latest note first. Notes for operators are
 * found by operators alone, and who sees single users finds none, since no note is of a user.
 */
export async function sourcesByNote(
  db: Queryable,
  text: string,
  { isOperator, tenantId, userIds }: SearchScope & { readonly isOperator: boolean },
  limit: number,
): Promise<NotedSources> {
  if (userIds !== undefined) return { ids: [], isCut: false, notes: new Map() }
  const words = searchForm(text).split(/\s+/).filter(Boolean)
  const values: unknown[] = []
  const add = (value: unknown): string => `$${values.push(value)}`
  const conditions = [
    `e.tenant_id = o.tenant_id and e.${isNoteSql}`,
    ...(isOperator ? [] : [`e.data->>'audience' = 'tenant'`]),
  ].join(' and ')
  const owners =
    tenantId === undefined
      ? notedOwnersSql
      : `owners (tenant_id) as (select ${add(tenantId)}::text)`
  const { rows } = await db.query<{ source_id: string; text: string }>(
    `with recursive ${owners}
     select n.source_id, n.data->>'text' as text from owners o
     cross join lateral (
       select e.source_id, e.data, e.position from timeline.events e where ${conditions}
       order by e.position desc limit ${MAX_NOTES_READ + 1}) n
     order by n.position desc limit ${MAX_NOTES_READ + 1}`,
    values,
  )
  const found = rows.slice(0, MAX_NOTES_READ).filter((row) => {
    const noted = searchForm(row.text)
    return words.every((word) => noted.includes(word))
  })
  const ids = [...new Set(found.map(({ source_id: id }) => id))].slice(0, limit)
  const notes = new Map(found.toReversed().map(({ source_id: id, text: note }) => [id, note]))
  return { ids, isCut: rows.length > MAX_NOTES_READ, notes }
}

/**
 * The scope is part of what is read within the bound: what an owner finds does not depend on the rows of
 * others.
 */
async function sourcesOf(
  db: Queryable,
  {
    most,
    order,
    upstreamId,
  }: { readonly most: number; readonly order: string; readonly upstreamId?: string },
  limit: number,
  fromSql: (add: (value: unknown) => string) => string,
): Promise<FoundSources> {
  const values: unknown[] = []
  const add = (value: unknown): string => `$${values.push(value)}`
  const from = fromSql(add)
  const at = upstreamId === undefined ? '' : add(upstreamId)
  // Text that does not have the id need not be parsed.
  const names =
    at === '' ? '' : `and strpos(data::text, ${at}) > 0 and data->>'upstreamRequestId' = ${at}`
  const { rows } = await db.query<{ ids: readonly string[]; is_cut: boolean }>(
    `with found as materialized (
       select source_id ${at === '' ? '' : ', data'} from ${from} order by ${order} limit ${most + 1})
     select array(select distinct source_id from found where source_id is not null ${names}
                  order by source_id limit ${add(limit)}) as ids,
            (select count(*) from found) > ${most} as is_cut`,
    values,
  )
  const [row] = rows
  return { ids: row?.ids ?? [], isCut: row?.is_cut === true }
}

/** A source by its first event, and by the last one that says how it is. */
export interface SourceSummary {
  readonly sourceId: string
  readonly tenantId: string
  readonly userId: string | undefined
  /** Time at which the log recorded its first event, unix milliseconds. */
  readonly atMs: number
  /** Type of the last event that says how it is. */
  readonly lastType: string
  /** The status that this event names. */
  readonly status: string | undefined
  /** The model of a request, the name of a file or an asset. */
  readonly name: string | undefined
  /** Why it failed. */
  readonly code: string | undefined
  readonly settled: { readonly currency: string; readonly amount: string } | undefined
}

interface SummaryRecord {
  readonly source_id: string
  readonly tenant_id: string
  readonly user_id: string | null
  readonly at: Date
  readonly last_type: string
  readonly status: string | null
  readonly name: string | null
  readonly code: string | null
  readonly currency: string | null
  readonly amount: string | null
}

/** Notes, and events after the end of a source, do not change how it is. */
const afterEnd = `type <> all ('{TaskDeleted,TaskAppearedLate,NotePosted}'::text[])`

/** The sources of these ids that the scope has, newest first. */
export async function summariesOf(
  db: Queryable,
  ids: readonly string[],
  scope: SearchScope,
): Promise<readonly SourceSummary[]> {
  const values: unknown[] = [ids]
  const { rows } = await db.query<SummaryRecord>(
    `select f.*, l.type as last_type, l.data->>'status' as status, l.data->>'code' as code,
            l.data#>>'{settlement,currency}' as currency, l.data#>>'{settlement,amount}' as amount
     from unnest($1::text[]) as s (id)
     cross join lateral (
       select e.source_id, e.tenant_id, e.user_id, e.at, e.position,
              coalesce(e.data->>'model', e.data->>'filename', e.data->>'name') as name
       from timeline.events e where e.source_id = s.id order by e.position limit 1) as f
     cross join lateral (
       select e.type, e.data from timeline.events e
       where e.source_id = s.id and e.${afterEnd} order by e.position desc limit 1) as l
     where ${scopeSql(scope, (value) => `$${values.push(value)}`)}
     order by f.position desc`,
    values,
  )
  return rows.map(toSummary)
}

function toSummary({ currency, amount, ...row }: SummaryRecord): SourceSummary {
  return {
    sourceId: row.source_id,
    tenantId: row.tenant_id,
    userId: row.user_id ?? undefined,
    atMs: row.at.getTime(),
    lastType: row.last_type,
    status: row.status ?? undefined,
    name: row.name ?? undefined,
    code: row.code ?? undefined,
    settled: currency === null || amount === null ? undefined : { currency, amount },
  }
}
