import type { Queryable } from '../engine/queryable.ts'
import { NEAR_MS } from './related.ts'
import { ownersSql, oneOwnerSql } from './speed.ts'
import { typesSql } from './tables.ts'

/** Requests that were charged, and charged again for the same body within ten minutes. */

/** Events that one page reads; the next page reads on where it ended. */
const READ_EVENTS = 8_000
/** Events before these among which the earlier request may be. */
const READ_BEFORE = 2_000

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

/** The condition of the read events, the newest first, before their number is bounded. */
function rangeOf(
  { tenantId, fromMs, toMs, asOf }: RepeatsFilter,
  after: string | undefined,
  add: (value: unknown) => string,
) {
  const from = `${add(new Date(fromMs - NEAR_MS))}::timestamptz`
  const to = `${add(new Date(toMs))}::timestamptz`
  const owner = tenantId === undefined ? undefined : add(tenantId)
  const boundsSql = `bounds (first, last) as materialized (
    select min(f.position), least(max(l.position), ${add(String(asOf))}::bigint
           ${after === undefined ? '' : `, ${add(after)}::bigint - 1`})
    from owners o
    cross join lateral (select position from timeline.events where tenant_id = o.tenant_id
      and at >= ${from} order by at, position limit 1) f
    cross join lateral (select position from timeline.events where tenant_id = o.tenant_id
      and at < ${to} order by at desc, position desc limit 1) l)`
  const within = `e.position between (select first from bounds) and (select last from bounds)
    ${owner === undefined ? '' : `and e.tenant_id = ${owner}`} order by e.position desc`
  return { owners: owner === undefined ? ownersSql : oneOwnerSql(owner), boundsSql, within }
}

/**
 * A page of charged requests whose body was charged before, the newest first; `after` is a `next` of the same
 * list. A page reads 8,000 events at the most and may be short: the list ends where `next` is undefined. No index
 * has fingerprints: each call would write it, and a list of a day reads each of its events once. A pair with more than
 * 2,000 events between its requests is missed where a page ends between them.
 */
export async function repeatsIn(
  db: Queryable,
  filter: RepeatsFilter,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<{ readonly items: readonly Repeat[]; readonly next: string | undefined }> {
  const values: unknown[] = []
  const add = (value: unknown): string => `$${values.push(value)}`
  const { owners, boundsSql, within } = rangeOf(filter, after, add)
  const { userIds, tokenId, model } = filter
  const conditions = [
    `e.${typesSql(['CallSettled', 'TaskRequested'])}`,
    'd."bodyFingerprint" is not null',
    ...(userIds === undefined ? [] : [`e.user_id = any(${add(userIds)}::text[])`]),
    ...(tokenId === undefined ? [] : [`d."tokenId" = ${add(tokenId)}`]),
    ...(model === undefined ? [] : [`d.model = ${add(model)}`]),
  ]
  const { rows } = await db.query<RepeatRecord & { readonly edge: string | null }>(
    `with recursive ${owners}, ${boundsSql},
     edge (position) as materialized (
       select e.position from timeline.events e where ${within} offset ${READ_EVENTS - 1} limit 1),
     begun as (
       select e.position, e.source_id, e.at, e.tenant_id, e.user_id, d."tokenId" as token_id,
              d.model, d.surface, d.retry, d."bodyFingerprint" as body
       from (select e.* from timeline.events e where ${within} limit ${READ_EVENTS + READ_BEFORE}) e
       cross join lateral json_to_record(e.data)
         as d ("tokenId" text, model text, surface text, retry int, "bodyFingerprint" text)
       where ${conditions.join(' and ')}),
     same as (
       select * from (select b.*, count(*) over (partition by tenant_id, token_id, body) as n from begun b) c
       where n > 1),
     charged as (
       select s.*, m.data#>>'{settlement,currency}' as currency,
              (m.data#>>'{settlement,amount}')::numeric as amount
       from same s cross join lateral (
         select e.data from timeline.events e where e.source_id = s.source_id
           and e.${typesSql(['CallSettled', 'TaskSettled'])} order by e.position limit 1) m),
     pairs as (
       select c.*, lag(source_id) over w as earlier_id, lag(at) over w as earlier_at,
              lag(retry) over w as earlier_retry, lag(amount) over w as earlier_amount
       from charged c where amount > 0
       window w as (partition by tenant_id, token_id, body order by position)),
     found as (
       select * from pairs
       where earlier_id <> source_id and at - earlier_at <= interval '${NEAR_MS} ms'
         and at >= ${add(new Date(filter.fromMs))}::timestamptz
         and at < ${add(new Date(filter.toMs))}::timestamptz
         and position >= coalesce((select position from edge), 0)
       order by position desc limit ${add(limit + 1)})
     select f.position, f.source_id, f.at, f.retry, trim_scale(f.amount)::text as amount, f.tenant_id,
            f.user_id, f.token_id, f.model, f.surface, f.currency, f.earlier_id, f.earlier_at,
            f.earlier_retry, trim_scale(f.earlier_amount)::text as earlier_amount, edge.position as edge
     from (select 1) one left join edge on true left join found f on true
     order by f.position desc`,
    values,
  )
  const items = rows.filter(({ source_id: id }) => id !== null).slice(0, limit)
  const isFull = items.length < rows.length && rows.length > limit
  const next = isFull ? items.at(-1)?.position : (rows[0]?.edge ?? undefined)
  return { items: items.map(toRepeat), next }
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
