import type { Pool } from 'pg'

export type Measure = 'requests' | 'tokens'
export const measures: readonly Measure[] = ['requests', 'tokens']

/** Time after which a used-up limit is fully available again. */
const MINUTE_MS = 60_000
/**
 * More than a limit can be used: by a call that took more than expected, and by replicas that had
 * not yet exchanged their use. The excess is paid back before anything new starts, but for at most
 * one further minute.
 */
const MOST_USED_PER_LIMIT = 2
/** Results of divisions are not exact: less than a thousandth counts as zero. */
const TOLERANCE = 0.001
/** Time after which all use has flowed back, with a margin. */
const FORGET_AFTER_MS = MOST_USED_PER_LIMIT * MINUTE_MS + 10_000
const PURGE_LIMIT = 5_000

/** Use of one limit since the last report to the other replicas. */
export interface Use {
  readonly holderId: string
  readonly measure: Measure
  readonly perMinute: number
  /** Negative when more came back than was taken. */
  readonly used: number
}

/** Current use of a limit by all replicas together. */
export type SharedUse = Omit<Use, 'perMinute'>
/** Reports and reads; the answer omits a limit that no replica ever reported. */
export type Share = (uses: readonly Use[]) => Promise<readonly SharedUse[]>

/** Time in which an amount flows back. */
function flowingMs(amount: number, perMinute: number): number {
  return Math.max(0, Math.ceil((amount * MINUTE_MS) / perMinute - TOLERANCE))
}

/**
 * One limit per minute of a token, a user or a tenant as this process knows it. Used amounts flow back evenly, so an
 * unused limit may be used in one burst, and over time no more than the limit per minute. It keeps
 * two numbers, however much is used.
 *
 * Every method takes the limit as a parameter, because it may change at any time.
 */
export class Allowance {
  #used = 0
  #atMs: number
  /** The part of `#used` that the other replicas do not know; negative when something came back. */
  #unreported = 0

  constructor(nowMs: number) {
    this.#atMs = nowMs
  }

  /** Current use, at most twice the limit. */
  used(perMinute: number, nowMs: number): number {
    const elapsedMs = Math.max(0, nowMs - this.#atMs)
    const left = this.#used - (elapsedMs * perMinute) / MINUTE_MS
    this.#used = Math.min(Math.max(0, left), perMinute * MOST_USED_PER_LIMIT)
    this.#atMs = nowMs
    return this.#used
  }

  /** Amount that may be used now, rounded down. */
  remaining(perMinute: number, nowMs: number): number {
    return Math.max(0, Math.floor(perMinute - this.used(perMinute, nowMs) + TOLERANCE))
  }

  /** Milliseconds until this amount may be taken, or 0. More than the limit never may be. */
  waitMs(amount: number, perMinute: number, nowMs: number): number {
    const missing = this.used(perMinute, nowMs) + amount - perMinute
    return missing <= TOLERANCE ? 0 : flowingMs(missing, perMinute)
  }

  /** Milliseconds until no use is left to flow back. */
  resetMs(perMinute: number, nowMs: number): number {
    return flowingMs(this.used(perMinute, nowMs), perMinute)
  }

  /** Takes an amount, whether or not it is available; a negative amount is returned. */
  take(amount: number, perMinute: number, nowMs: number): void {
    this.#used = Math.max(0, this.used(perMinute, nowMs) + amount)
    this.#unreported += amount
  }

  /** Returns the use to report to the other replicas, and counts it as reported from now on. */
  report(perMinute: number, nowMs: number): number {
    // Use that has flowed back since need not be reported.
    const unreported = Math.min(this.#unreported, this.used(perMinute, nowMs))
    this.#unreported = 0
    return unreported
  }

  /** The report failed: the amount is to be reported again. */
  reportFailed(unreported: number): void {
    this.#unreported += unreported
  }

  /** Adopts the use of all replicas together, as far as they reported. */
  learn(usedByAll: number, nowMs: number): void {
    this.#used = Math.max(0, usedByAll + this.#unreported)
    this.#atMs = nowMs
  }

  /** Whether there is no use to remember. */
  isWhole(perMinute: number, nowMs: number): boolean {
    return this.#unreported >= 0 && this.used(perMinute, nowMs) <= TOLERANCE
  }
}

/**
 * The part of `u.used` that has not flowed back yet, by the clock of Postgres alone. A time in the
 * future was written before that clock was set back; it counts as past by the same distance at
 * most, so callers do not wait for it.
 */
const flowed = (perMinute: string): string =>
  `greatest(0, u.used - ${perMinute} / 60
     * abs(extract(epoch from clock_timestamp() - u.at)::float8))`

/**
 * Several replicas enforce one limit: about once a second each reports its use and reads that of
 * all. In between a replica knows only its own use, so together they may exceed a limit by the use
 * that each admits within a second: for an unused limit at most the limit once more for every
 * further replica, later about a sixtieth of it. The excess is paid back before more is admitted,
 * so over minutes the limit holds. While Postgres is unavailable each replica goes on limiting by
 * what it knows.
 *
 * Reports and reads through `ops.rate_use`, in one statement.
 */
export function shareThrough(pool: Pool): Share {
  return async (uses) => {
    const { rows } = await pool.query<{
      holder: string
      measure: SharedUse['measure']
      used: number
    }>({
      name: 'rate-use',
      // A replica without use to report writes nothing. All write in the order of the keys, so that
      // replicas that report the same limits do not deadlock.
      text: `with asked as (
               select * from unnest($1::text[], $2::text[], $3::float8[], $4::float8[])
                 as a (holder, measure, per_minute, used)),
             reported as (
               insert into ops.rate_use as u (holder, measure, per_minute, used, at)
               select holder, measure, per_minute, used, clock_timestamp() from asked
               where used <> 0 order by holder, measure
               on conflict (holder, measure) do update set
                 used = least(excluded.per_minute * ${MOST_USED_PER_LIMIT},
                              greatest(0, ${flowed('excluded.per_minute')} + excluded.used)),
                 per_minute = excluded.per_minute, at = excluded.at
               returning holder, measure, used)
             select holder, measure, used from reported
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

const IS_FORGETTABLE = `abs(extract(epoch from clock_timestamp() - at)) > ${FORGET_AFTER_MS} / 1000.0`

/** Has a row where there is one to purge. */
export const forgettableUseSql = `select from ops.rate_use where ${IS_FORGETTABLE}`

/** Deletes limits that were not used for long enough, a bounded number at a time. */
export async function purgeRateUse(db: Pool): Promise<void> {
  await db.query({
    name: 'rate-use-purge',
    text: `delete from ops.rate_use where (holder, measure) in (
             select holder, measure from ops.rate_use
             where ${IS_FORGETTABLE} limit $1)`,
    values: [PURGE_LIMIT],
  })
}
