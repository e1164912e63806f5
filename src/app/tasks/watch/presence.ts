import type { Pool, PoolClient } from 'pg'
import { releasePolls } from '../../../../projections/tasks/query.ts'
import { pause } from '../../../kernel/pause.ts'
import { forgetWorkers, lastWords, renewWorker, takeSilentWorkers, type Word } from './workers.ts'
import type { TaskDeps } from '../deps.ts'

/**
 * Frees at once what a process that died had leased. Silence is measured here, by a clock that is
 * never set, and it is not death: a worker that was paused, or cut off from the database, may go on
 * with tasks that others have taken. That only asks upstream twice, for every change is decided on
 * the log and a reschedule on the lease.
 */

/** A worker silent for this long is taken for dead; renewing fails a few times before that. */
const SILENT_MS = 5_000
/** Who leaves frees again what was locked. */
const LEAVE_TRIES = 20
const LEAVE_PAUSE_MS = 25

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
      const freed = await free(pool, clock.nowMs(), (client) => takeSilentWorkers(client, words))
      if (freed.owners.length > 0) logger.warn(freed, 'leases of silent workers freed')
      return 'idle'
    },
    leave: async () => {
      renewedMs = Number.NEGATIVE_INFINITY
      const mine = (): Promise<readonly string[]> => Promise.resolve([owner])
      for (let tries = 1; ; tries += 1) {
        const { heldBy } = await free(pool, clock.nowMs(), mine)
        // What is left others free, once we are silent.
        if (heldBy.length === 0 || tries === LEAVE_TRIES) return
        await pause(LEAVE_PAUSE_MS)
      }
    },
  }
}

interface Freed {
  readonly owners: readonly string[]
  readonly released: number
  /** Those of the owners of whose leases some were locked: they are not forgotten, and freed again. */
  readonly heldBy: readonly string[]
}

/** Frees and forgets together: of several that notice a silence, the first does both for all. */
async function free(
  pool: Pool,
  nowMs: number,
  take: (client: PoolClient) => Promise<readonly string[]>,
): Promise<Freed> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const owners = await take(client)
    const freed =
      owners.length === 0 ? { released: 0, heldBy: [] } : await releasePolls(client, owners, nowMs)
    await forgetWorkers(
      client,
      owners.filter((owner) => !freed.heldBy.includes(owner)),
    )
    await client.query('commit')
    client.release()
    return { owners, ...freed }
  } catch (error) {
    client.release(true)
    throw error
  }
}
