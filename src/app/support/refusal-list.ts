import type { Queryable } from '../../../projections/engine/queryable.ts'
import { timeOfRequestId } from '../../kernel/ids.ts'
import type { RefusalSample } from './refusals.ts'

/** Reads of the counts of failed answers, for support and for callers. */

/** An absent member does not filter. */
export interface RefusalFilter {
  readonly tenantId: string | undefined
  readonly userIds: readonly string[] | undefined
  readonly tokenId: string | undefined
  readonly route: string | undefined
  readonly code: string | undefined
  /** Finds only counts that have this request among their samples. */
  readonly requestId: string | undefined
  /** Unix milliseconds, inclusive: counts with a refusal from then on. */
  readonly fromMs: number | undefined
  /** Unix milliseconds, exclusive. */
  readonly toMs: number | undefined
}

/** The failed answers to a token within an hour, from one route and with one code. */
export interface CountedRefusals {
  /** Begin of the hour, unix milliseconds. */
  readonly hourMs: number
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  /** Undefined where the token is counted alone. */
  readonly route: string | undefined
  readonly code: string | undefined
  readonly count: number
  readonly firstMs: number
  readonly lastMs: number
  /** The last requests, newest first. */
  readonly samples: readonly {
    readonly requestId: string
    readonly param: string | undefined
    /** The limit, budget or balance that refused it, with its figures. */
    readonly why: string | undefined
    readonly atMs: number
  }[]
}

interface RefusalRecord {
  readonly id: string
  readonly hour: Date
  readonly tenant_id: string
  readonly user_id: string
  readonly token_id: string
  readonly route: string
  readonly code: string
  readonly n: string
  readonly first_at: Date
  readonly last_at: Date
  readonly samples: readonly RefusalSample[]
}

/** A place in the list: the hour and the number of a row. */
const placeForm = /^(\d{1,14})\.(\d{1,18})$/

/** Whether a text is a place in the list, so that it can be read on after it. */
export const isRefusalPlace = (text: string): boolean => placeForm.test(text)

/** A page of counted refusals, the newest hour first; `after` is a `next` of the same list. */
export async function countedRefusals(
  db: Queryable,
  filter: RefusalFilter,
  { after, limit }: { readonly after: string | undefined; readonly limit: number },
): Promise<{ readonly items: readonly CountedRefusals[]; readonly next: string | undefined }> {
  const values: unknown[] = []
  const conditions = ['true']
  const where = (value: unknown, text: (placeholder: string) => string): void => {
    if (value !== undefined) conditions.push(text(`$${values.push(value)}`))
  }
  const { fromMs, toMs, requestId } = filter
  where(filter.tenantId, (at) => `tenant_id = ${at}`)
  where(filter.userIds, (at) => `user_id = any(${at}::text[])`)
  where(filter.tokenId, (at) => `token_id = ${at}`)
  where(filter.route, (at) => `route = ${at}`)
  where(filter.code, (at) => `code = ${at}`)
  where(
    requestId === undefined ? undefined : JSON.stringify([{ request_id: requestId }]),
    (at) => `samples @> ${at}::jsonb`,
  )
  // The longest request is answered within a day, so that few hours are searched for it.
  const askedMs = requestId === undefined ? undefined : timeOfRequestId(requestId)
  where(
    askedMs === undefined ? undefined : new Date(askedMs),
    (at) =>
      `hour between ${at}::timestamptz - interval '1 hour' and ${at}::timestamptz + interval '1 day'`,
  )
  // The hour is what the indexes have; a refusal at its end is an hour later.
  where(
    fromMs === undefined ? undefined : new Date(fromMs),
    (at) => `hour > ${at}::timestamptz - interval '1 hour' and last_at >= ${at}::timestamptz`,
  )
  where(
    toMs === undefined ? undefined : new Date(toMs),
    (at) => `hour < ${at}::timestamptz and first_at < ${at}::timestamptz`,
  )
  const [, hourMs, id] = placeForm.exec(after ?? '') ?? []
  if (hourMs !== undefined) {
    const place = [values.push(new Date(Number(hourMs))), values.push(id)]
    conditions.push(`(hour, id) < ($${place[0]}::timestamptz, $${place[1]}::bigint)`)
  }
  const { rows } = await db.query<RefusalRecord>(
    `select id, hour, tenant_id, user_id, token_id, route, code, first_at, last_at, samples,
            (select sum(value::bigint) from jsonb_each_text(counts)) as n
     from ops.refusals where ${conditions.join(' and ')}
     order by hour desc, id desc limit $${values.push(limit + 1)}`,
    values,
  )
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const next = rows.length > limit && last ? `${last.hour.getTime()}.${last.id}` : undefined
  return { items: page.map(toCounted), next }
}

const toCounted = (row: RefusalRecord): CountedRefusals => ({
  hourMs: row.hour.getTime(),
  tenantId: row.tenant_id,
  userId: row.user_id,
  tokenId: row.token_id,
  route: row.route === '' ? undefined : row.route,
  code: row.code === '' ? undefined : row.code,
  count: Number(row.n),
  firstMs: row.first_at.getTime(),
  lastMs: row.last_at.getTime(),
  samples: row.samples.map(({ request_id, param, why, at }) => ({
    requestId: request_id,
    param: param ?? undefined,
    why,
    atMs: at,
  })),
})

/** A refused request that is among the samples of a count. */
export interface RefusedRequest {
  readonly requestId: string
  readonly tenantId: string
  readonly userId: string
  readonly atMs: number
  readonly route: string | undefined
  readonly code: string | undefined
}

/**
 * Samples whose request id begins so, in hours from an hour before the first time that it can have to
 * an hour after the last one.
 */
export async function refusedRequests(
  db: Queryable,
  of: { readonly prefix: string; readonly firstMs: number; readonly lastMs: number },
  { tenantId, userIds }: Pick<RefusalFilter, 'tenantId' | 'userIds'>,
  limit: number,
): Promise<readonly RefusedRequest[]> {
  const { rows } = await db.query<
    Pick<RefusalRecord, 'tenant_id' | 'user_id' | 'route' | 'code'> & {
      readonly sample: RefusalSample
    }
  >(
    `select tenant_id, user_id, route, code, sample
     from ops.refusals cross join lateral jsonb_array_elements(samples) as s (sample)
     where hour between $1::timestamptz - interval '1 hour' and $2::timestamptz + interval '1 hour'
       and starts_with(sample->>'request_id', $3)
       and ($4::text is null or tenant_id = $4) and ($5::text[] is null or user_id = any($5))
     order by hour desc, id desc limit $6`,
    [
      new Date(of.firstMs),
      new Date(of.lastMs),
      of.prefix,
      tenantId ?? null,
      userIds ?? null,
      limit,
    ],
  )
  return rows.map(({ sample, ...row }) => ({
    requestId: sample.request_id,
    tenantId: row.tenant_id,
    userId: row.user_id,
    atMs: sample.at,
    route: row.route === '' ? undefined : row.route,
    code: row.code === '' ? undefined : row.code,
  }))
}
