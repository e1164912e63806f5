import type { Pool } from 'pg'
import { Counter, type Registry } from 'prom-client'
import type { Clock } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import type { Migrations } from '../../storage/postgres/migrate.ts'
import { startExchangeLoop } from '../queue/exchange-loop.ts'

/** A request of a known token that was answered with a failure. */
interface Refusal {
  readonly token: {
    readonly tenantId: string
    readonly userId: string
    readonly tokenId: string
  }
  /** Method and pattern of the route, never the path as it was sent. */
  readonly route: string
  readonly code: string
  readonly requestId: string
  /** The member or parameter at fault, in names that the API declares (P7). */
  readonly param: string | undefined
  /** The limit, budget or balance that refused it, with its figures, in the gateway's own words. */
  readonly why?: string | undefined
}

/**
 * Counts failed answers by hour, token, route and code, so that support sees refusals, which are no
 * events. They are counted in memory and written in the background (`ops.refusals`): a killed process
 * loses the counts of some seconds, and while Postgres is away the counts wait.
 */
export interface Refusals {
  /** Costs a few map look-ups. */
  readonly count: (refusal: Refusal) => void
  /** Writes changed counts, or all. @throws errors of the database; the next call repeats the write */
  readonly write: (options?: { readonly all?: boolean }) => Promise<void>
}

const HOUR_MS = 3_600_000
const WRITE_EVERY_MS = 5_000
/** The most counts in one process. */
export const MAX_KEYS = 2_000
/** Further refusals count under their token alone, so that one token cannot hide the others. */
const MAX_DETAILED_KEYS = 1_600
/** The newest requests of a count. */
const MAX_SAMPLES = 5
const KEPT_DAYS = 14

/** A request of a count, as its row has it. */
export interface RefusalSample {
  readonly request_id: string
  readonly param: string | null
  /** Absent for any other reason than a limit, a budget or a balance. */
  readonly why?: string
  readonly at: number
}

interface Counted {
  readonly hourMs: number
  readonly token: Refusal['token']
  /** Empty where a token is counted alone. */
  readonly route: string
  readonly code: string
  n: number
  firstMs: number
  lastMs: number
  /** Newest first. */
  samples: readonly RefusalSample[]
  writtenN: number
}

export function createRefusals(pool: Pool, clock: Clock, registry?: Registry): Refusals {
  const counts = new Map<string, Counted>()
  // Each process writes its own count of a row, so that a write may come twice.
  const writer = newId('process', clock.nowMs())
  const uncounted = new Counter({
    name: 'tollgate_refusals_uncounted_total',
    help: `Failed answers that no count has, because ${MAX_KEYS} counts of the hour exist.`,
    registers: registry === undefined ? [] : [registry],
  })
  let writtenAtMs = 0

  const entryOf = (refusal: Refusal, nowMs: number): Counted | undefined => {
    const { token } = refusal
    const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS
    const find = (route: string, code: string, mostKeys: number): Counted | undefined => {
      const key = JSON.stringify([hourMs, token.tenantId, token.tokenId, route, code])
      const known = counts.get(key)
      if (known !== undefined || counts.size >= mostKeys) return known
      const times = { firstMs: nowMs, lastMs: nowMs }
      const begun = { hourMs, token, route, code, ...times, n: 0, samples: [], writtenN: 0 }
      counts.set(key, begun)
      return begun
    }
    return find(refusal.route, refusal.code, MAX_DETAILED_KEYS) ?? find('', '', MAX_KEYS)
  }

  const writeChanged = async (): Promise<void> => {
    const changed = [...counts.values()].filter(({ n, writtenN }) => n !== writtenN)
    if (changed.length > 0) {
      const written = changed.map((entry) => ({ ...entry }))
      await upsert(pool, writer, written)
      for (const [index, entry] of changed.entries()) entry.writtenN = written[index]?.n ?? 0
    }
    // Rows of an hour that is over do not change any more.
    const nowMs = clock.nowMs()
    for (const [key, { hourMs, n, writtenN }] of counts)
      if (hourMs + HOUR_MS <= nowMs && n === writtenN) counts.delete(key)
  }

  return {
    count: (refusal) => {
      const nowMs = clock.nowMs()
      const entry = entryOf(refusal, nowMs)
      if (entry === undefined) return uncounted.inc()
      const { requestId, param, why } = refusal
      const of = { request_id: requestId, param: param ?? null, at: nowMs }
      const sample = why === undefined ? of : { ...of, why }
      entry.n += 1
      entry.lastMs = nowMs
      entry.samples = [sample, ...entry.samples.slice(0, MAX_SAMPLES - 1)]
    },
    write: async ({ all = false } = {}) => {
      const nowMs = clock.nowMs()
      if (!all && Math.abs(nowMs - writtenAtMs) < WRITE_EVERY_MS) return
      await writeChanged()
      writtenAtMs = nowMs
    },
  }
}

async function upsert(pool: Pool, writer: string, entries: readonly Counted[]): Promise<void> {
  await pool.query({
    name: 'refusals-write',
    // In the order of the keys, so that replicas that write the same rows do not deadlock.
    text: `insert into ops.refusals as r
             (tenant_id, hour, token_id, route, code, user_id, first_at, last_at, counts, samples)
           select tenant_id, to_timestamp(hour_ms / 1000), token_id, route, code, user_id,
                  to_timestamp(first_ms / 1000), to_timestamp(last_ms / 1000),
                  jsonb_build_object($1::text, n), samples::jsonb
           from unnest($2::text[], $3::float8[], $4::text[], $5::text[], $6::text[], $7::text[],
                       $8::float8[], $9::float8[], $10::bigint[], $11::text[])
             as t (tenant_id, hour_ms, token_id, route, code, user_id, first_ms, last_ms, n, samples)
           order by tenant_id, hour_ms, token_id, route, code
           on conflict (tenant_id, hour, token_id, route, code) do update set
             first_at = least(r.first_at, excluded.first_at),
             last_at = greatest(r.last_at, excluded.last_at),
             counts = r.counts || excluded.counts,
             samples = (
               select jsonb_agg(s order by s->'at' desc, s->>'request_id' desc) from (
                 select s from (
                   select distinct s from jsonb_array_elements(r.samples || excluded.samples) as a (s)
                 ) as each
                 order by s->'at' desc, s->>'request_id' desc limit ${MAX_SAMPLES}) as newest)`,
    values: [
      writer,
      entries.map(({ token }) => token.tenantId),
      entries.map(({ hourMs }) => hourMs),
      entries.map(({ token }) => token.tokenId),
      entries.map(({ route }) => route),
      entries.map(({ code }) => code),
      entries.map(({ token }) => token.userId),
      entries.map(({ firstMs }) => firstMs),
      entries.map(({ lastMs }) => lastMs),
      entries.map(({ n }) => n),
      entries.map(({ samples }) => JSON.stringify(samples)),
    ],
  })
}

/** Writes every five seconds until stopped, and everything at the stop. */
export function startWritingRefusals(
  refusals: Refusals,
  logger: Log,
): { readonly stop: () => Promise<void> } {
  const writing = startExchangeLoop({
    exchange: () => refusals.write(),
    of: 'counts of refusals',
    logger,
  })
  return {
    stop: async () => {
      await writing.stop()
      await refusals.write({ all: true }).catch((error: unknown) => {
        logger.warn({ err: error }, 'the last counts of refusals could not be written')
      })
    },
  }
}

/** Rows that one purge deletes. */
const PURGE_LIMIT = 10_000

const isOldSql = (nowMs: string): string =>
  `hour < to_timestamp(${nowMs}::double precision / 1000) - interval '${KEPT_DAYS} days'`

/** Has a row where there is one to purge. */
export const oldRefusalsSql = (nowMs: string): string =>
  `select from ops.refusals where ${isOldSql(nowMs)}`

/** Deletes counts of long ago, a bounded number at a time. */
export async function purgeRefusals(db: Pool, nowMs: number): Promise<void> {
  await db.query({
    name: 'refusals-purge',
    text: `delete from ops.refusals where id in (
             select id from ops.refusals where ${isOldSql('$1')} order by hour limit $2)`,
    values: [nowMs, PURGE_LIMIT],
  })
}

export const refusalMigrations: Migrations = {
  owner: 'refusals',
  steps: [
    `
create table ops.refusals (
  tenant_id text not null,
  hour timestamptz not null,
  token_id text not null,
  route text not null,
  code text not null,
  -- The place of a row in lists.
  id bigint generated always as identity unique,
  user_id text not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- The count of each process that writes it.
  counts jsonb not null,
  samples jsonb not null,
  primary key (tenant_id, hour, token_id, route, code)
) with (fillfactor = 70);
create index refusals_hour on ops.refusals (hour, id);
`,
  ],
}
