import type { Pool, PoolClient } from 'pg'
import type { Queryable } from './queryable.ts'

/** Namespace of the advisory locks of this program's projections ("toll"). */
const LOCK_CLASS = 0x746f6c6c

/** Waits for a named lock that lasts until the transaction ends. */
export async function lockUntilCommit(client: Queryable, name: string): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1, hashtext($2))', [LOCK_CLASS, name])
}

/** The name of the lock whose holder updates the read models. */
export const ENGINE = 'engine'

/** Whether any process leads under this name; by default, the one that updates the read models. */
export async function hasLeader(db: Queryable, name = ENGINE): Promise<boolean> {
  // A lock of two keys has them as unsigned numbers, and 2 as the third.
  const { rowCount } = await db.query(
    `select from pg_locks where locktype = 'advisory' and granted and objsubid = 2
     and database = (select oid from pg_database where datname = current_database())
     and classid::bigint = $1 and objid::bigint = hashtext($2)::bigint & 4294967295`,
    [LOCK_CLASS, name],
  )
  return rowCount !== null && rowCount > 0
}

/** How often the connection that holds the lock is checked. */
const PING_INTERVAL_MS = 5_000
const PING_TIMEOUT_MS = 5_000

/** Holding a named session lock of the database, until released or the connection is lost. */
interface Leadership {
  /** Aborts when the connection, and with it the lock, is lost. */
  readonly lost: AbortSignal
  readonly release: () => Promise<void>
}

/**
 * Tries to become the only holder of a name in this database: a session advisory lock on its own
 * connection, so a killed process frees it. Undefined when another process holds it.
 */
export async function tryLead(
  pool: Pool,
  name: string,
  options: {
    /** Postgres ends the session, and so the lead, of a process that is frozen for this long. */
    readonly silentMs?: number
    /** Listens on a channel of Postgres for as long as it leads. */
    readonly listen?: { readonly channel: string; readonly onNotified: () => void }
  } = {},
): Promise<Leadership | undefined> {
  const client = await pool.connect()
  const lost = new AbortController()
  const lose = (): void => lost.abort(new Error(`lost the connection that leads ${name}`))
  client.on('error', lose)
  client.on('end', lose)
  const onNotified = (): void => options.listen?.onNotified()
  const releaseClient = (broken: boolean): void => {
    client.off('error', lose)
    client.off('end', lose)
    client.off('notification', onNotified)
    client.release(broken)
  }
  try {
    const { rows } = await client.query<{ locked: boolean }>(
      'select pg_try_advisory_lock($1, hashtext($2)) as locked',
      [LOCK_CLASS, name],
    )
    if (rows[0]?.locked !== true) {
      releaseClient(false)
      return undefined
    }
    if (options.silentMs !== undefined)
      await client.query(`set idle_session_timeout = ${Math.round(options.silentMs)}`)
    if (options.listen !== undefined) {
      client.on('notification', onNotified)
      await client.query(`listen ${options.listen.channel}`)
    }
  } catch (error) {
    releaseClient(true)
    throw error
  }
  const ping = startPings(client, lose)
  return {
    lost: lost.signal,
    release: async () => {
      clearInterval(ping)
      // Ending the session frees the lock whatever happens to the unlock.
      const unlocked = lost.signal.aborted
        ? false
        : await client
            .query('unlisten *; reset idle_session_timeout')
            .then(() =>
              client.query('select pg_advisory_unlock($1, hashtext($2))', [LOCK_CLASS, name]),
            )
            .then(
              () => true,
              () => false,
            )
      releaseClient(!unlocked)
    },
  }
}

/** Asks from time to time whether the connection still lives. */
function startPings(client: PoolClient, lose: () => void): NodeJS.Timeout {
  return setInterval(() => {
    const timer = setTimeout(lose, PING_TIMEOUT_MS)
    client.query('select 1').then(
      () => clearTimeout(timer),
      () => {
        clearTimeout(timer)
        lose()
      },
    )
  }, PING_INTERVAL_MS).unref()
}

/** A lead that is kept from round to round, and tried for again once it is lost. */
interface KeptLead {
  /** Undefined while another process leads. `isNew`: it did not lead before. */
  readonly hold: () => Promise<{ readonly lost: AbortSignal; readonly isNew: boolean } | undefined>
  /** Releases the lock immediately, so that another process can lead. */
  readonly release: () => Promise<void>
}

export function keepLead(...lead: Parameters<typeof tryLead>): KeptLead {
  let leading: Leadership | undefined
  const release = async (): Promise<void> => {
    await leading?.release()
    leading = undefined
  }
  return {
    hold: async () => {
      if (leading !== undefined && !leading.lost.aborted)
        return { lost: leading.lost, isNew: false }
      await release()
      leading = await tryLead(...lead)
      return leading && { lost: leading.lost, isNew: true }
    },
    release,
  }
}
