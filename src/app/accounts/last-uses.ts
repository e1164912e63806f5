import type { Pool } from 'pg'
import { createLru } from '../../kernel/lru.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { startExchangeLoop } from '../queue/exchange-loop.ts'
import type { Migrations } from '../../storage/postgres/migrate.ts'

/**
 * When each token was last used, so that operators can find unused tokens. It is kept in memory and
 * written in the background (`ops.token_uses`), for each token at most once a minute: a use may
 * show a minute late, and a killed process loses up to a minute.
 */
interface LastUses {
  /** Costs one map look-up. */
  readonly used: (tokenId: string) => void
  /**
   * Writes overdue uses, or all. @throws errors of the database; the next call repeats the write
   */
  readonly write: (options?: { readonly all?: boolean }) => Promise<void>
}

const WRITE_EVERY_MS = 60_000
/** The longest unused are evicted first: their next use is written again. */
const MAX_TOKENS = 50_000
/** Most uses written in one statement. */
const MAX_BATCH = 5_000

interface Use {
  usedAtMs: number
  writtenAtMs: number
}

export function createLastUses(pool: Pool, clock: Clock): LastUses {
  const uses = createLru<string, Use>(MAX_TOKENS)

  const writeBatch = async (some: readonly (readonly [string, Use])[]): Promise<void> => {
    const batch = some.map(([tokenId, { usedAtMs }]) => ({ tokenId, usedAtMs }))
    await pool.query({
      name: 'token-uses',
      // In the order of the ids, so that replicas that write the same tokens do not deadlock.
      text: `insert into ops.token_uses as u (token_id, used_at)
             select token_id, to_timestamp(used_ms / 1000)
             from unnest($1::text[], $2::float8[]) as t (token_id, used_ms) order by token_id
             on conflict (token_id) do update set used_at = greatest(u.used_at, excluded.used_at)`,
      values: [batch.map(({ tokenId }) => tokenId), batch.map(({ usedAtMs }) => usedAtMs)],
    })
    for (const [index, [, use]] of some.entries()) use.writtenAtMs = batch[index]?.usedAtMs ?? 0
  }

  return {
    used: (tokenId) => {
      const usedAtMs = clock.nowMs()
      const known = uses.get(tokenId)
      if (known === undefined) uses.set(tokenId, { usedAtMs, writtenAtMs: 0 })
      else known.usedAtMs = usedAtMs
    },
    write: async ({ all = false } = {}) => {
      const leastMs = all ? 1 : WRITE_EVERY_MS
      // After a clock was set back, nothing is written until it passes its earlier time, so that
      // the later time stays.
      const due = [...uses].filter(
        ([, { usedAtMs, writtenAtMs }]) => usedAtMs - writtenAtMs >= leastMs,
      )
      for (let at = 0; at < due.length; at += MAX_BATCH)
        await writeBatch(due.slice(at, at + MAX_BATCH))
    },
  }
}

/** Writes about once a second until stopped, and everything at the stop. */
export function startWriting(uses: LastUses, logger: Log): { readonly stop: () => Promise<void> } {
  const writing = startExchangeLoop({
    exchange: () => uses.write(),
    of: 'last uses of tokens',
    logger,
  })
  return {
    stop: async () => {
      await writing.stop()
      await uses.write({ all: true }).catch((error: unknown) => {
        logger.warn({ err: error }, 'the last uses of tokens could not be written')
      })
    },
  }
}

/** Times of the last written uses of tokens: unix milliseconds by token id. */
export async function lastUsesOf(
  db: Queryable,
  tokenIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ token_id: string; used_at: Date }>({
    name: 'token-uses-of',
    text: 'select token_id, used_at from ops.token_uses where token_id = any($1::text[])',
    values: [tokenIds],
  })
  return new Map(rows.map((row) => [row.token_id, row.used_at.getTime()]))
}

export const lastUseMigrations: Migrations = {
  owner: 'last-uses',
  steps: [
    `
create table ops.token_uses (
  token_id text primary key,
  used_at timestamptz not null
) with (fillfactor = 70);
`,
  ],
}
