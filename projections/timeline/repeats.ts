import type { Queryable } from '../engine/queryable.ts'
import { beforeSql, untilSql } from './positions.ts'
import { NEAR_MS } from './related.ts'
import { typesSql } from './tables.ts'

/** Requests that were charged, and charged again for the same body within ten minutes. */

/** Events that one page reads; the next page reads on where it ended. */
const READ_EVENTS = 6_000
/** Events of the ten minutes before these among which the earlier request may be: 20 a second. */
const READ_BEFORE = 12_000
/** Requests with a body that was sent before, of which a page looks up the charges, for each of its items. */
const LOOKED_UP = 4

/** An absent member does not filter. */
export interface RepeatsFilter {
  readonly tenantId: string | undefined
  readonly userIds: readonly string[] | undefined
  readonly tokenId: string | undefined
  /** External name. */
  readonly model: string | undefined
  /** Time of recording of the repeated request: unix milliseconds, inclusive. */
  readonly fromMs: number
  /** Unix milliseconds, exclusive. */
  readonly toMs: number
  /** Position of the log after which nothing counts. */
  readonly asOf: bigint
}

/** A call or a task that was charged. */
export interface ChargedRequest {
  readonly sourceId: string
  /** Time at which the log recorded the call, or the beginning of the task, unix milliseconds. */
  readonly atMs: number
  /** How often the caller's program had tried before, as it says. */
  readonly retry: number | undefined
  /** Exact decimal. */
  readonly amount: string
}

/** A charged request, and the one before it with the same body, of the same token. */
export interface Repeat extends ChargedRequest {
  /** Decimal position in the log. */
  readonly position: string
  readonly tenantId: string
  readonly userId: string | undefined
  readonly tokenId: string
  readonly model: string
  readonly surface: string
  readonly currency: string
  readonly earlier: ChargedRequest
}

interface RepeatRecord {
  /** The last event of the page where it is not the last of the list. */
  readonly edge: string | null
  /** The last request whose charges were looked up, where there are more. */
  readonly looked_up: string | null
  readonly position: string
  readonly source_id: string
  readonly at: Date
  readonly retry: number | null
  readonly amount: string
  readonly tenant_id: string
  readonly user_id: string | null
  readonly token_id: string
  readonly model: string
  readonly surface: string
  readonly currency: string
  readonly earlier_id: string
  readonly earlier_at: Date
  readonly earlier_retry: number | null
  readonly earlier_amount: string
}

/** Whether a text is a place in the list, so that it can be read on after it: a position. */
export const isRepeatPlace = (text: string): boolean => /^\d{1,18}$/.test(text)

type Add = (value: unknown) => string

/** The events of a page, the newest first, and those of the ten minutes before its edge. */
function readSql(filter: RepeatsFilter, after: string | undefined, add: Add): string {
  const { tenantId, userIds, tokenId, fromMs, toMs, asOf } = filter
  const owner = tenantId === undefined ? undefined : add(tenantId)
  const near = `interval '${NEAR_MS} ms'`
  const of = owner === undefined ? 'all' : { tenantId: owner }
  const ofOwner = owner === undefined ? '' : `and e.tenant_id = ${owner}`
  const last = after === undefined ? asOf : BigInt(after) - 1n
  const within = `e.position > (select position from first) and e.position <= (select position from last)
    ${ofOwner} order by e.position desc`
  const conditions = [
    `e.${typesSql(['CallSettled', 'TaskRequested'])}`,
    "f.body <> ''",
    ...(userIds === undefined ? [] : [`e.user_id = any(${add(userIds)}::text[])`]),
    ...(tokenId === undefined ? [] : [`f.token_id = ${add(tokenId)}`]),
  ]
  return `first (position) as materialized (
      select ${beforeSql(of, `${add(new Date(fromMs - NEAR_MS))}::timestamptz`)}),
    last (position) as materialized (
      select least(${add(String(last))}::bigint, ${untilSql(of, `${add(new Date(toMs))}::timestamptz`)})),
    edge (position, at) as materialized (
      select e.position, e.at from timeline.events e where ${within} offset ${READ_EVENTS - 1} limit 1),
    early (position) as materialized (
      select greatest((select position from first), ${beforeSql(of, `(select at from edge) - ${near}`)})),
    seen as materialized (
      select e.position, e.at, hashtextextended(f.token_id || f.body, 0) as key
      from ((select e.* from timeline.events e where ${within} limit ${READ_EVENTS})
            union all
            (select e.* from timeline.events e
             where e.position > (select position from early) and e.position < (select position from edge)
               ${ofOwner} order by e.position desc limit ${READ_BEFORE})) e
      ${factsSql}
      where ${conditions.join(' and ')}),
    chains as materialized (
      select position, at, lag(position) over w as prev, lag(at) over w as prev_at
      from seen window w as (partition by key order by position))`
}

/**
 * The token and the fingerprint of an event, found as text: reading thousands of events as JSON takes several times as
 * long. In the JSON of the log only the name of a member stands before `":"`.
 */
const factsSql = `
  cross join lateral (select split_part(e.data::text, '"tokenId":"', 2) as rest offset 0) r
  cross join lateral (
    select split_part(r.rest, '"', 1) as token_id,
           coalesce(nullif(split_part(split_part(r.rest, '"bodyFingerprint":"', 2), '"', 1), ''),
                    split_part(split_part(e.data::text, '"bodyFingerprint":"', 2), '"', 1)) as body offset 0) f`

/** This query finds what a request was charged first. */
const chargeSql = (sourceId: string): string => `
  select m.data#>>'{settlement,currency}' as currency, (m.data#>>'{settlement,amount}')::numeric as amount
  from timeline.events m where m.source_id = ${sourceId}
    and m.${typesSql(['CallSettled', 'TaskSettled'])} order by m.position limit 1`

/** Whether the request that began at a position was charged. */
const isChargedSql = (position: string): string => `coalesce((
  select m.amount > 0 from timeline.events b cross join lateral (${chargeSql('b.source_id')}) m
  where b.position = ${position}), false)`

/**
 * A page of charged requests whose body was charged before, the newest first; `after` is a `next` of the same
 * list. A page may be short: the list ends where `next` is undefined. No index has fingerprints, because each call
 * would write it: a page reads 6,000 events, and those of the ten minutes before them, at most 12,000.
 */
export async function repeatsIn(
  db: Queryable,
  filter: RepeatsFilter,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<{ readonly items: readonly Repeat[]; readonly next: string | undefined }> {
  const values: unknown[] = []
  const add: Add = (value) => `$${values.push(value)}`
  const near = `interval '${NEAR_MS} ms'`
  const read = readSql(filter, after, add)
  const { model } = filter
  const lookedUp = LOOKED_UP * (limit + 1)
  const { rows } = await db.query<RepeatRecord>(
    `with recursive ${read},
     later as materialized (
       select c.* from chains c
       where c.at - c.prev_at <= ${near} and c.at >= ${add(new Date(filter.fromMs))}::timestamptz
         and c.at < ${add(new Date(filter.toMs))}::timestamptz
         and c.position >= coalesce((select position from edge), 0)
         ${model === undefined ? '' : `and (select e.data->>'model' from timeline.events e where e.position = c.position) = ${add(model)}`}
       order by c.position desc limit ${lookedUp + 1}),
     looked_up (position) as (
       select position from later order by position desc offset ${lookedUp - 1} limit 1),
     -- Back from each to the last one that was charged: a failed task, for one, was not.
     walked (position, at, earlier, earlier_at, is_charged) as (
       select position, at, prev, prev_at, ${isChargedSql('prev')}
       from (select * from later order by position desc limit ${lookedUp}) l
       union all
       select w.position, w.at, c.prev, c.prev_at, ${isChargedSql('c.prev')}
       from walked w join chains c on c.position = w.earlier
       where not w.is_charged and w.at - c.prev_at <= ${near}),
     found as (
       select e.position, e.source_id, e.at, e.tenant_id, e.user_id, d."tokenId" as token_id, d.model, d.surface,
              d.retry, c.currency, trim_scale(c.amount)::text as amount, b.source_id as earlier_id,
              b.at as earlier_at, f.retry as earlier_retry, trim_scale(p.amount)::text as earlier_amount
       from walked w
       join timeline.events e on e.position = w.position
       join timeline.events b on b.position = w.earlier
       cross join lateral json_to_record(e.data)
         as d ("tokenId" text, model text, surface text, retry int, "bodyFingerprint" text)
       cross join lateral json_to_record(b.data) as f ("tokenId" text, retry int, "bodyFingerprint" text)
       cross join lateral (${chargeSql('e.source_id')}) c
       cross join lateral (${chargeSql('b.source_id')}) p
       where w.is_charged and c.amount > 0
         and (d."tokenId", d."bodyFingerprint") = (f."tokenId", f."bodyFingerprint")
       order by e.position desc limit ${limit + 1})
     select f.*, (select position from edge) as edge,
            case when (select count(*) from later) > ${lookedUp} then (select position from looked_up) end as looked_up
     from (select 1) one left join found f on true order by f.position desc`,
    values,
  )
  const items = rows.filter(({ source_id: id }) => id !== null).slice(0, limit)
  const isFull = items.length < rows.length && rows.length > limit
  const ended = rows[0]?.looked_up ?? rows[0]?.edge ?? undefined
  return { items: items.map(toRepeat), next: isFull ? items.at(-1)?.position : ended }
}

function toRepeat(row: RepeatRecord): Repeat {
  return {
    position: row.position,
    sourceId: row.source_id,
    atMs: row.at.getTime(),
    retry: row.retry ?? undefined,
    amount: row.amount,
    tenantId: row.tenant_id,
    userId: row.user_id ?? undefined,
    tokenId: row.token_id,
    model: row.model,
    surface: row.surface,
    currency: row.currency,
    earlier: {
      sourceId: row.earlier_id,
      atMs: row.earlier_at.getTime(),
      retry: row.earlier_retry ?? undefined,
      amount: row.earlier_amount,
    },
  }
}
