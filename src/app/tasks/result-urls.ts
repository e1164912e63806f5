import { readCompactTime } from '../../kernel/read-time.ts'
import type { Pool } from 'pg'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { createBatchedWriter } from '../../storage/postgres/batched-writes.ts'
import type { Migrations } from '../../storage/postgres/migrate.ts'

/** The short-lived cache of result URLs: signed, so never in the log (P7). */

/** Not shown within this time before its signature ends, so that a caller can still download. */
const SAFETY_MARGIN_MS = 60_000
/** Lifetime of a URL that does not state one. */
const DEFAULT_LIFE_MS = 24 * 3_600_000
/** Expired or absent upstream: not queried again before this. */
const ABSENT_LIFE_MS = 60_000
const PURGE_LIMIT = 5_000

interface CachedUrls {
  /** Empty: upstream has none at the moment. */
  readonly urls: Readonly<Record<string, string>>
  readonly expiresAtMs: number
}

/** Unix milliseconds at which a signed URL ends, read from the URL when it states that. */
export function signedUntilMs(url: string): number | undefined {
  if (!URL.canParse(url)) return undefined
  let date: string | undefined
  let lifeS: number | undefined
  for (const [name, value] of new URL(url).searchParams) {
    if (/(?:^|-)date$/i.test(name)) date = value
    if (/(?:^|-)expires$/i.test(name) && /^\d{1,10}$/.test(value)) lifeS = Number(value)
  }
  if (lifeS === undefined) return undefined
  // A number beyond any lifetime in seconds is a time.
  if (lifeS > 1_000_000_000) return lifeS * 1_000
  const signedMs = readCompactTime(date ?? '')
  return signedMs === undefined ? undefined : signedMs + lifeS * 1_000
}

/** The URLs of a finished task to cache; expired ones are left out. */
export function cacheableUrls(
  urls: Readonly<Record<string, string>> | undefined,
  times: { readonly nowMs: number; readonly renderedAtMs: number | undefined },
): CachedUrls {
  const { nowMs } = times
  const assumedMs = (times.renderedAtMs ?? nowMs) + DEFAULT_LIFE_MS
  const fresh = Object.entries(urls ?? {})
    .map(([name, url]) => ({ name, url, untilMs: signedUntilMs(url) ?? assumedMs }))
    .filter(({ untilMs }) => untilMs - SAFETY_MARGIN_MS > nowMs)
  if (fresh.length === 0) return { urls: {}, expiresAtMs: nowMs + ABSENT_LIFE_MS }
  return {
    urls: Object.fromEntries(fresh.map(({ name, url }) => [name, url])),
    expiresAtMs: Math.min(...fresh.map(({ untilMs }) => untilMs)) - SAFETY_MARGIN_MS,
  }
}

/** Remembers URLs until their expiry. */
export type PutTaskUrls = (platformId: string, cached: CachedUrls) => Promise<void>

/** A lost entry is queried upstream again. */
export function createUrlCache(pool: Pool): PutTaskUrls {
  const write = createBatchedWriter<CachedUrls & { readonly platformId: string }>(pool, (batch) => {
    // The last one of each task: a statement may touch a row only once.
    const entries = [...new Map(batch.map((entry) => [entry.platformId, entry])).values()]
    return {
      text: `insert into ops.task_urls (platform_id, urls, expires_at)
             select platform_id, urls::jsonb, to_timestamp(expires_at_ms / 1000)
             from unnest($1::text[], $2::text[], $3::double precision[])
               as t (platform_id, urls, expires_at_ms)
             on conflict (platform_id) do update
             set urls = excluded.urls, expires_at = excluded.expires_at`,
      values: [
        entries.map(({ platformId }) => platformId),
        entries.map(({ urls }) => JSON.stringify(urls)),
        entries.map(({ expiresAtMs }) => expiresAtMs),
      ],
    }
  })
  return (platformId, cached) => write({ platformId, ...cached })
}

/** Unexpired URLs by platform id; for an id without an entry upstream must be queried. */
export async function findTaskUrls(
  db: Pool,
  platformIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  if (platformIds.length === 0) return new Map()
  const { rows } = await db.query<{ platform_id: string; urls: Record<string, string> }>(
    `select platform_id, urls from ops.task_urls
     where platform_id = any($1) and expires_at > to_timestamp($2::double precision / 1000)`,
    [platformIds, nowMs],
  )
  return new Map(rows.map((row) => [row.platform_id, row.urls]))
}

/** When the signed URLs of a task end, Unix milliseconds; undefined where none is known. */
export async function findUrlsEnd(db: Queryable, platformId: string): Promise<number | undefined> {
  const { rows } = await db.query<{ expires_at: Date }>({
    name: 'task-urls-end',
    text: `select expires_at from ops.task_urls where platform_id = $1 and urls <> '{}'::jsonb`,
    values: [platformId],
  })
  return rows[0]?.expires_at.getTime()
}

const isExpiredSql = (nowMs: string): string =>
  `expires_at < to_timestamp(${nowMs}::double precision / 1000)`

/** Has a row where there is one to purge. */
export const expiredUrlsSql = (nowMs: string): string =>
  `select from ops.task_urls where ${isExpiredSql(nowMs)}`

/** Deletes expired entries, a bounded number at a time. Returns their number. */
export async function purgeTaskUrls(db: Pool, nowMs: number): Promise<number> {
  const { rowCount } = await db.query({
    name: 'task-urls-purge',
    text: `delete from ops.task_urls where platform_id in (
             select platform_id from ops.task_urls
             where ${isExpiredSql('$1')} limit $2)`,
    values: [nowMs, PURGE_LIMIT],
  })
  return rowCount ?? 0
}

export const taskMigrations: Migrations = {
  owner: 'tasks',
  steps: [
    // Databases from before migrations were numbered have this table.
    `
create table if not exists ops.task_urls (
  platform_id text primary key,
  urls jsonb not null,
  expires_at timestamptz not null
);
create index if not exists task_urls_expiry on ops.task_urls (expires_at);
`,
  ],
}
