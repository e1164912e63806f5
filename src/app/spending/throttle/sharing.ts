import type { Pool } from 'pg'
import type { Log } from '../../../kernel/log.ts'
import { startExchanging } from '../../queue/exchanging.ts'
import { MOST_USED_PER_LIMIT } from './allowance.ts'
import type { Rates, Share, SharedUse } from './rates.ts'

/**
 * Several replicas keep one limit: about once a second each reports what it took and reads what all
 * took. In between a replica knows only its own use, so together they exceed a limit by what each
 * admits within a second: where nothing was used yet, at most the limit once more for every further
 * replica, later about a sixtieth of it. The excess is paid back before more is admitted, so over
 * minutes the limit holds. While Postgres is unavailable each replica goes on limiting by what it
 * knows.
 */
/** By then all use has flowed back, with a margin. */
const FORGET_AFTER_MS = MOST_USED_PER_LIMIT * 60_000 + 10_000
const PURGE_LIMIT = 5_000

/**
 * The part of `u.used` that has not flowed back yet, by the clock of Postgres alone. A time in the
 * future was written before that clock was set back; it counts as past by the same distance at
 * most, so callers do not wait for it.
 */
const flowed = (perMinute: string): string =>
  `greatest(0, u.used - ${perMinute} / 60
     * abs(extract(epoch from clock_timestamp() - u.at)::float8))`

/** Reports and reads through `ops.rate_use`, in one statement. */
export function shareThrough(pool: Pool): Share {
  return async (uses) => {
    const { rows } = await pool.query<{
      holder: string
      measure: SharedUse['measure']
      used: number
    }>({
      name: 'rate-use',
      // A replica with nothing to report writes nothing. All write in the order of the keys, so
      // that replicas that report the same limits do not deadlock.
      text: `with asked as (
               select * from unnest($1::text[], $2::text[], $3::float8[], $4::float8[])
                 as a (holder, measure, per_minute, used)),
             told as (
               insert into ops.rate_use as u (holder, measure, per_minute, used, at)
               select holder, measure, per_minute, used, clock_timestamp() from asked
               where used <> 0 order by holder, measure
               on conflict (holder, measure) do update set
                 used = least(excluded.per_minute * ${MOST_USED_PER_LIMIT},
                              greatest(0, ${flowed('excluded.per_minute')} + excluded.used)),
                 per_minute = excluded.per_minute, at = excluded.at
               returning holder, measure, used)
             select holder, measure, used from told
             union all
             select holder, measure, ${flowed('a.per_minute')}
             from asked a join ops.rate_use u using (holder, measure) where a.used = 0`,
      values: [
        uses.map(({ holderId }) => holderId),
        uses.map(({ measure }) => measure),
        uses.map(({ perMinute }) => perMinute),
        uses.map(({ used }) => used),
      ],
    })
    return rows.map((row) => ({ holderId: row.holder, measure: row.measure, used: row.used }))
  }
}

/** Exchanges use about once a second until stopped, and one last time then. */
export function startSharing(deps: {
  readonly rates: Pick<Rates, 'exchange'>
  readonly share: Share
  readonly logger: Log
}): { readonly stop: () => Promise<void> } {
  const { rates, share, logger } = deps
  return startExchanging({ exchange: () => rates.exchange(share), of: 'rate limits', logger })
}

/** Deletes limits that were not used for long enough, a bounded number at a time. */
export async function purgeRateUse(db: Pool): Promise<void> {
  await db.query(
    `delete from ops.rate_use where (holder, measure) in (
       select holder, measure from ops.rate_use
       where abs(extract(epoch from clock_timestamp() - at)) > $1::float8 / 1000 limit $2)`,
    [FORGET_AFTER_MS, PURGE_LIMIT],
  )
}
