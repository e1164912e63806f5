import type { Pool } from 'pg'
import type { Log } from '../../kernel/log.ts'
import { startExchanging } from '../exchanging.ts'
import { MOST_USED_PER_LIMIT } from './allowance.ts'
import type { Rates, Share, SharedUse } from './rates.ts'

/**
 * Several replicas keep one limit: about once a second each tells what it took and learns what all
 * took. In between a replica knows only its own, so together they exceed a limit by what each admits
 * within a second: where nothing was used yet, at most the limit once more for every further replica,
 * later about a sixtieth of it. What was exceeded is paid back before more is admitted, so over
 * minutes the limit holds. With Postgres away each replica goes on limiting by what it knows.
 */
/** By then all of it has flowed back, and a little more. */
const FORGET_AFTER_MS = MOST_USED_PER_LIMIT * 60_000 + 10_000
const PURGE_LIMIT = 5_000

/**
 * What of `u.used` has not flowed back by now; Postgres' clock is the only one that counts there. A time
 * ahead of it is of before it was set back, and as long ago as it is ahead at most: nobody waits for it.
 */
const flowed = (perMinute: string): string =>
  `greatest(0, u.used - ${perMinute} / 60
     * abs(extract(epoch from clock_timestamp() - u.at)::float8))`

/** Tells and learns through `ops.rate_use`, in one statement. */
export function shareThrough(pool: Pool): Share {
  return async (uses) => {
    const { rows } = await pool.query<{
      token_id: string
      measure: SharedUse['measure']
      used: number
    }>({
      name: 'rate-use',
      // Who has nothing to tell writes nothing. All write in the order of the keys: replicas that
      // tell of the same limits must not wait for each other crosswise.
      text: `with asked as (
               select * from unnest($1::text[], $2::text[], $3::float8[], $4::float8[])
                 as a (token_id, measure, per_minute, used)),
             told as (
               insert into ops.rate_use as u (token_id, measure, per_minute, used, at)
               select token_id, measure, per_minute, used, clock_timestamp() from asked
               where used <> 0 order by token_id, measure
               on conflict (token_id, measure) do update set
                 used = least(excluded.per_minute * ${MOST_USED_PER_LIMIT},
                              greatest(0, ${flowed('excluded.per_minute')} + excluded.used)),
                 per_minute = excluded.per_minute, at = excluded.at
               returning token_id, measure, used)
             select token_id, measure, used from told
             union all
             select token_id, measure, ${flowed('a.per_minute')}
             from asked a join ops.rate_use u using (token_id, measure) where a.used = 0`,
      values: [
        uses.map(({ tokenId }) => tokenId),
        uses.map(({ measure }) => measure),
        uses.map(({ perMinute }) => perMinute),
        uses.map(({ used }) => used),
      ],
    })
    return rows.map((row) => ({ tokenId: row.token_id, measure: row.measure, used: row.used }))
  }
}

/** Exchanges what was used about once a second until stopped, and a last time then. */
export function startSharing(deps: {
  readonly rates: Rates
  readonly share: Share
  readonly logger: Log
}): { readonly stop: () => Promise<void> } {
  const { rates, share, logger } = deps
  return startExchanging({ exchange: () => rates.exchange(share), of: 'rate limits', logger })
}

/** Drops what nobody used for long enough, a bounded number at a time. */
export async function purgeRateUse(db: Pool): Promise<void> {
  await db.query(
    `delete from ops.rate_use where (token_id, measure) in (
       select token_id, measure from ops.rate_use
       where abs(extract(epoch from clock_timestamp() - at)) > $1::float8 / 1000 limit $2)`,
    [FORGET_AFTER_MS, PURGE_LIMIT],
  )
}
