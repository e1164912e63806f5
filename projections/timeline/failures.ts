import { fromTimestamp } from '../../src/kernel/clock.ts'
import type { Queryable } from '../engine/queryable.ts'
import { byRequestSql, failureTypes, ofRequestSql, typesSql } from './tables.ts'

/** Requests that ended without a result, or whose end is not known: what support looks at first. */

type FailureType = (typeof failureTypes)[number]

export const failureStatuses = ['failed', 'refused', 'expired', 'uncertain'] as const
export type FailureStatus = (typeof failureStatuses)[number]

const statusOf: Readonly<Record<FailureType, FailureStatus>> = {
  CallFailed: 'failed',
  TaskFailed: 'failed',
  TaskSubmissionRefused: 'refused',
  TaskSubmissionUncertain: 'uncertain',
  TaskExpired: 'expired',
}

/** An absent member does not filter. */
export interface FailureFilter {
  readonly tenantId: string | undefined
  readonly userIds: readonly string[] | undefined
  readonly tokenId: string | undefined
  /** External name. */
  readonly model: string | undefined
  /** The channel that was asked last. */
  readonly channelId: string | undefined
  readonly surface: string | undefined
  readonly code: string | undefined
  readonly status: FailureStatus | undefined
  readonly requestId: string | undefined
  /** Time of recording: unix milliseconds, inclusive. */
  readonly fromMs: number | undefined
  /** Unix milliseconds, exclusive. */
  readonly toMs: number | undefined
  /** Position of the log after which nothing counts. */
  readonly asOf: bigint
}

export interface FailedRequest {
  /** Decimal position in the log. */
  readonly position: string
  readonly kind: 'call' | 'task'
  readonly status: FailureStatus
  /** Time at which the log recorded it, unix milliseconds. */
  readonly atMs: number
  readonly tenantId: string
  readonly userId: string | undefined
  /** Id of the call, or platform id of the task. */
  readonly sourceId: string
  readonly tokenId: string
  readonly model: string
  readonly surface: string
  readonly requestId: string
  readonly code: string
  readonly message: string
  /** The time from the beginning of the request to its failure. */
  readonly durationMs: number
  /** Refused calls of the token that the event represents. */
  readonly count: number
  /** The provider may have done this, at the caller's prices: the operator bears it. */
  readonly notCharged: { readonly currency: string; readonly amount: string } | undefined
  /** The channel that was asked last. */
  readonly channelId: string
}

interface FailureRecord {
  readonly position: string
  readonly type: FailureType
  readonly at: Date
  readonly tenant_id: string
  readonly user_id: string | null
  readonly source_id: string
  readonly token_id: string
  readonly model: string
  readonly surface: string
  readonly request_id: string
  readonly code: string
  readonly message: string
  readonly begun_at: string
  readonly ended_at: string
  readonly count: number
  readonly currency: string | null
  readonly amount: string | null
  readonly channel_id: string
}

/** Codes of the events that have none, as callers see them. */
export const failureCodeSql = (alias: string): string =>
  `coalesce(${alias}.data->>'code', case ${alias}.type
     when 'TaskExpired' then 'expired' else 'submission_uncertain' end)`
const codeSql = failureCodeSql('e')

const messageSql = `coalesce(e.data->>'message', case
  when e.type <> 'TaskExpired' then e.data->>'reason'
  when e.data->>'reason' = 'deadline' then 'no end of the task was seen by its deadline'
  else 'the task expired at the provider' end)`

/**
 * The facts of the request: a call's event has them itself, a task's first event has them. The
 * subquery is not flattened, so that it is found by two keys and once for each row.
 */
const requestSql = `cross join lateral (select coalesce(
    (select b.data from timeline.sources s join timeline.events b on b.position = s.position
     where s.source_id = e.source_id and e.type <> 'CallFailed'), e.data) as facts offset 0) r`

/** Events of an uncertain submission whose outcome became known: these are listed, if they failed. */
const knownOutcomes = [
  'TaskSubmitted',
  'TaskSubmissionRefused',
  'TaskSucceeded',
  'TaskFailed',
  'TaskExpired',
  'TaskCancelled',
] as const

const channelSql = `coalesce(
  (select c.data->>'channelId' from timeline.events c
   where c.source_id = e.source_id and c.position < e.position
     and c.type in ('TaskStarted', 'TaskSubmitted') and e.type <> 'CallFailed'
   order by c.position desc limit 1), r.facts->>'channelId')`

/** A place in the list: the time and the position of a failure. */
const placeForm = /^(\d{1,14})\.(\d{1,18})$/

/** Whether a text is a place in the list, so that it can be read on after it. */
export const isFailurePlace = (text: string): boolean => placeForm.test(text)

function conditionsOf(filter: FailureFilter, after: string | undefined, values: unknown[]) {
  const add = (value: unknown): string => `$${values.push(value)}`
  const types = failureTypes.filter(
    (type) => filter.status === undefined || statusOf[type] === filter.status,
  )
  const asOf = `${add(String(filter.asOf))}::bigint`
  const conditions = [
    `e.${typesSql(types)}`,
    `e.position <= ${asOf}`,
    `not (e.type = 'TaskSubmissionUncertain' and exists (
       select from timeline.events l where l.source_id = e.source_id
         and l.position > e.position and l.position <= ${asOf} and l.${typesSql(knownOutcomes)}))`,
  ]
  const where = (value: unknown, text: (placeholder: string) => string): void => {
    if (value !== undefined) conditions.push(text(add(value)))
  }
  const dateOf = (ms: number | undefined): Date | undefined =>
    ms === undefined ? undefined : new Date(ms)
  where(filter.tenantId, (at) => `e.tenant_id = ${at}`)
  where(filter.userIds, (at) => `e.user_id = any(${at}::text[])`)
  where(dateOf(filter.fromMs), (at) => `e.at >= ${at}::timestamptz`)
  where(dateOf(filter.toMs), (at) => `e.at < ${at}::timestamptz`)
  where(filter.tokenId, (at) => `r.facts->>'tokenId' = ${at}`)
  where(filter.model, (at) => `r.facts->>'model' = ${at}`)
  where(filter.channelId, (at) => `${channelSql} = ${at}`)
  where(filter.surface, (at) => `r.facts->>'surface' = ${at}`)
  where(filter.code, (at) => `${codeSql} = ${at}`)
  // A later request may act on a task too, so that the id of the first one is compared.
  where(
    filter.requestId,
    (at) => `r.facts->>'requestId' = ${at} and e.source_id in (
      select c.source_id from timeline.events c
      where c.${ofRequestSql(at)} and c.${byRequestSql})`,
  )
  const [, atMs, position] = placeForm.exec(after ?? '') ?? []
  if (atMs !== undefined)
    conditions.push(
      `(e.at, e.position) < (${add(new Date(Number(atMs)))}::timestamptz, ${add(position)}::bigint)`,
    )
  return conditions.join(' and ')
}

/** A page of failed requests, the newest first; `after` is a `next` of the same list. */
export async function failedRequests(
  db: Queryable,
  filter: FailureFilter,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<{ readonly items: readonly FailedRequest[]; readonly next: string | undefined }> {
  const values: unknown[] = []
  const conditions = conditionsOf(filter, after, values)
  const { rows } = await db.query<FailureRecord>(
    `select e.position, e.type, e.at, e.tenant_id, e.user_id, e.source_id,
            r.facts->>'tokenId' as token_id, r.facts->>'model' as model,
            r.facts->>'surface' as surface, r.facts->>'requestId' as request_id,
            ${codeSql} as code, ${messageSql} as message,
            coalesce(r.facts->>'startedAt', r.facts->>'requestedAt') as begun_at,
            coalesce(e.data->>'failedAt', e.data->>'refusedAt', e.data->>'uncertainAt',
                     e.data->>'expiredAt') as ended_at,
            coalesce((e.data->>'count')::int, 1) as count,
            e.data#>>'{absorbed,settlement,currency}' as currency,
            e.data#>>'{absorbed,settlement,amount}' as amount, ${channelSql} as channel_id
     from timeline.events e ${requestSql}
     where ${conditions}
     order by e.at desc, e.position desc limit $${values.push(limit + 1)}`,
    values,
  )
  const items = rows.slice(0, limit).map(toFailure)
  const last = items.at(-1)
  const next = rows.length > limit && last ? `${last.atMs}.${last.position}` : undefined
  return { items, next }
}

function toFailure(row: FailureRecord): FailedRequest {
  const { currency, amount } = row
  return {
    position: row.position,
    kind: row.type === 'CallFailed' ? 'call' : 'task',
    status: statusOf[row.type],
    atMs: row.at.getTime(),
    tenantId: row.tenant_id,
    userId: row.user_id ?? undefined,
    sourceId: row.source_id,
    tokenId: row.token_id,
    model: row.model,
    surface: row.surface,
    requestId: row.request_id,
    code: row.code,
    message: row.message,
    durationMs: Math.max(0, fromTimestamp(row.ended_at) - fromTimestamp(row.begun_at)),
    count: row.count,
    notCharged: currency === null || amount === null ? undefined : { currency, amount },
    channelId: row.channel_id,
  }
}
