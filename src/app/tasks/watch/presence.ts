import type { Pool, PoolClient } from 'pg'
import { releasePolls } from '../../../../projections/tasks/query.ts'
import { forgetWorker, forgetWorkers, lastWords, renewWorker, type Word } from './workers.ts'
import type { TaskDeps } from '../deps.ts'

/**
 * Frees at once what a process that died had leased. Silence is measured here, by a clock that is
 * never set, and it is not death: a worker that was paused, or cut off from the database, may go on
 * with tasks that others have taken. That only asks upstream twice, for every change is decided on
 * the log and a reschedule on the lease.
 */

/** A worker silent for this long is taken for dead; renewing fails a few times before that. */
const SILENT_MS = 5_000

export interface Presence {
  /** Renews our own word and frees what silent workers hold. */
  readonly round: () => Promise<'idle'>
  /** Whether others know that we live: only then is anything leased. */
  readonly known: () => boolean
  /** Frees what we hold ourselves: nobody has to wait for our silence. */
  readonly leave: () => Promise<void>
}

interface Heard extends Word {
  /** When this was first heard here. */
  readonly sinceMs: number
}

export function createPresence(
  deps: Pick<TaskDeps, 'pool' | 'clock' | 'monotonic' | 'logger'>,
  owner: string,
): Presence {
  const { pool, clock, monotonic, logger } = deps
  let renewedMs = Number.NEGATIVE_INFINITY
  let heard: ReadonlyMap<string, Heard> = new Map()

  /** The workers from which nothing new was heard for long enough. */
  const silent = async (): Promise<readonly Heard[]> => {
    const nowMs = monotonic.nowMs()
    const now = (await lastWords(pool)).map((word): Heard => {
      const before = heard.get(word.owner)
      return before?.said === word.said ? before : { ...word, sinceMs: nowMs }
    })
    heard = new Map(now.map((one) => [one.owner, one]))
    return now.filter(({ sinceMs }) => nowMs - sinceMs >= SILENT_MS)
  }
  return {
    known: () => monotonic.nowMs() - renewedMs < SILENT_MS,
    round: async () => {
      const sentMs = monotonic.nowMs()
      await renewWorker(pool, owner)
      renewedMs = sentMs
      const words = await silent()
      if (words.length === 0) return 'idle'
      const freed = await free(pool, clock.nowMs(), (client) => forgetWorkers(client, words))
      if (freed.owners.length > 0) logger.warn(freed, 'leases of silent workers freed')
      return 'idle'
    },
    leave: async () => {
      renewedMs = Number.NEGATIVE_INFINITY
      await free(pool, clock.nowMs(), async (client) => {
        await forgetWorker(client, owner)
        return [owner]
      })
    },
  }
}

/** Forgets and frees together: of several that notice a silence, the first does both for all. */
async function free(
  pool: Pool,
  nowMs: number,
  forget: (client: PoolClient) => Promise<readonly string[]>,
): Promise<{ readonly owners: readonly string[]; readonly released: number }> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const owners = await forget(client)
    const released = owners.length === 0 ? 0 : await releasePolls(client, owners, nowMs)
    await client.query('commit')
    client.release()
    return { owners, released }
  } catch (error) {
    client.release(true)
    throw error
  }
}
