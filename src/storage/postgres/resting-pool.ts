import type { Pool, PoolClient } from 'pg'
import type { Clock } from '../../kernel/clock.ts'
import { pause } from '../../kernel/pause.ts'
import { onceReleased } from './pool-share.ts'

/** Work shorter than this needs no rest yet. */
const LEAST_WORK_MS = 25
/** Longest rest, after work that cannot be divided. */
const LONGEST_REST_MS = 5_000
/** Where other work has no more of the machine, no rest is needed: a job's own statements in Postgres count as such. */
const CALM_SHARE = 0.3
/** From this share on a rest is the longest: so many times as long as the work before it. */
const BUSY_SHARE = 0.5
const MOST_TIMES = 4

interface RestOptions {
  /** The share of the processors, from 0 to 1, that other work has (`createBusyShare`). */
  readonly busyShare: () => number
  readonly clock: Clock
  readonly pauseFor?: (ms: number) => Promise<void>
}

/**
 * Rests after work, which are the longer the less of the machine other work leaves free. A low priority alone is not
 * enough: it does not reach the processes of Postgres.
 */
export function createRest({
  busyShare,
  clock,
  pauseFor = pause,
}: RestOptions): () => Promise<void> {
  let sinceMs = clock.nowMs()
  return async () => {
    const workedMs = clock.nowMs() - sinceMs
    if (workedMs < LEAST_WORK_MS) return
    const busy = (busyShare() - CALM_SHARE) / (BUSY_SHARE - CALM_SHARE)
    const times = MOST_TIMES * Math.min(busy, 1)
    if (times > 0) await pauseFor(Math.min(workedMs * times, LONGEST_REST_MS))
    sinceMs = clock.nowMs()
  }
}

/**
 * Makes a pool lend one connection at a time, and rest before it does, for work that must not be at the cost of
 * callers. Code that holds a connection must not ask for another: it would wait for itself.
 */
export function restBetween(pool: Pool, rest: () => Promise<void>): void {
  const plain = pool.connect.bind(pool) as () => Promise<PoolClient>
  let last: Promise<void> = Promise.resolve()
  const lend = async (): Promise<PoolClient> => {
    const before = last
    let over = (): void => undefined
    last = new Promise((resolve) => (over = resolve))
    await before
    try {
      await rest()
      const client = await plain()
      onceReleased(client, over)
      return client
    } catch (error) {
      over()
      throw error
    }
  }
  type Lent = (
    error: Error | undefined,
    client?: PoolClient,
    release?: PoolClient['release'],
  ) => void
  const connect = (lent?: Lent): Promise<PoolClient> | undefined => {
    const lending = lend()
    if (lent === undefined) return lending
    lending.then(
      (client) => lent(undefined, client, client.release.bind(client)),
      (error: Error) => lent(error, undefined, () => undefined),
    )
    return undefined
  }
  pool.connect = connect as Pool['connect']
}
