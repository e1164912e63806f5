import type { Pool, PoolClient } from 'pg'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { pause } from '../../kernel/pause.ts'
import type { SeenModels } from './seen-models.ts'
import { freeLeases, type WorkTable } from './tables.ts'
import type { Migrations } from '../../storage/postgres/migrate.ts'

/** A worker silent for this long counts as dead; before that, several renewals must fail. */
const SILENT_MS = 5_000
/** Interval at which a leaving worker retries to free rows that were locked. */
const LEAVE_TRIES = 20
const LEAVE_PAUSE_MS = 25

export interface PresenceDeps {
  readonly pool: Pool
  readonly clock: Clock
  /** Measures durations. */
  readonly monotonic: Clock
  readonly logger: Log
  /** Where positions of read models are noted, which each heartbeat reads in the same statement; undefined: none. */
  readonly models?: SeenModels | undefined
}

export interface Presence {
  /** Renews this process's heartbeat and frees the leases of silent workers. */
  readonly round: () => Promise<'idle'>
  /** Whether the other workers see this process as alive: only then it leases jobs. */
  readonly known: () => boolean
  /** Frees the leases of this process, so that other processes need not wait for its silence. */
  readonly leave: () => Promise<void>
}

/** The last heartbeat of a worker: a new text each time, never compared with a clock. */
interface Heartbeat {
  readonly owner: string
  readonly beat: string
}

interface SeenHeartbeat extends Heartbeat {
  /** Time at which this process first saw it. */
  readonly sinceMs: number
}

/** @param tables all that have leases, so that a worker is not removed before each is free of it */
export function createPresence(
  { pool, clock, monotonic, logger, models }: PresenceDeps,
  owner: string,
  tables: readonly WorkTable[],
): Presence {
  let renewedMs = Number.NEGATIVE_INFINITY
  let seen: ReadonlyMap<string, SeenHeartbeat> = new Map()

  /** The workers whose heartbeats have not changed for long enough. */
  const silent = (beats: readonly Heartbeat[]): readonly SeenHeartbeat[] => {
    const nowMs = monotonic.nowMs()
    const now = beats.map((heartbeat): SeenHeartbeat => {
      const before = seen.get(heartbeat.owner)
      return before?.beat === heartbeat.beat ? before : { ...heartbeat, sinceMs: nowMs }
    })
    seen = new Map(now.map((one) => [one.owner, one]))
    return now.filter(({ sinceMs }) => nowMs - sinceMs >= SILENT_MS)
  }
  return {
    known: () => monotonic.nowMs() - renewedMs < SILENT_MS,
    round: async () => {
      const sentMs = monotonic.nowMs()
      const beats = await renewWorker(pool, owner, models)
      renewedMs = sentMs
      const workers = silent(beats)
      if (workers.length === 0) return 'idle'
      const take = (client: PoolClient) => takeSilentWorkers(client, workers)
      const freed = await free(pool, tables, clock.nowMs(), take)
      if (freed.owners.length > 0) logger.warn(freed, 'leases of silent workers freed')
      return 'idle'
    },
    leave: async () => {
      renewedMs = Number.NEGATIVE_INFINITY
      const mine = (): Promise<readonly string[]> => Promise.resolve([owner])
      for (let tries = 1; ; tries += 1) {
        const { heldBy } = await free(pool, tables, clock.nowMs(), mine)
        // Other workers free the remaining leases once this process is silent.
        if (heldBy.length === 0 || tries === LEAVE_TRIES) return
        await pause(LEAVE_PAUSE_MS)
      }
    },
  }
}

interface Freed {
  readonly owners: readonly string[]
  readonly released: number
  /** Owners with leases that were locked: they are not removed, and freed again later. */
  readonly heldBy: readonly string[]
}

/** Frees and removes in one transaction: of several workers, the first does all. */
async function free(
  pool: Pool,
  tables: readonly WorkTable[],
  nowMs: number,
  take: (client: PoolClient) => Promise<readonly string[]>,
): Promise<Freed> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const owners = await take(client)
    let released = 0
    const heldBy = new Set<string>()
    if (owners.length > 0)
      for (const table of tables) {
        const freed = await freeLeases(client, table, owners, nowMs)
        released += freed.released
        for (const holder of freed.heldBy) heldBy.add(holder)
      }
    await forgetWorkers(
      client,
      owners.filter((one) => !heldBy.has(one)),
    )
    await client.query('commit')
    client.release()
    return { owners, released, heldBy: [...heldBy] }
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** A process with background work, by its heartbeat. */
export interface PresentWorker {
  readonly owner: string
  /** Time since its last heartbeat, in milliseconds, by the clock of Postgres. */
  readonly silentMs: number
}

/** The processes that have announced themselves and were not yet forgotten; a dead one for some seconds. */
export async function presentWorkers(db: Pick<Pool, 'query'>): Promise<readonly PresentWorker[]> {
  const { rows } = await db.query<{ owner: string; silent: number }>({
    name: 'workers-present',
    text: `select owner, extract(epoch from clock_timestamp() - seen_at)::float8 * 1000 as silent
           from ops.workers order by owner`,
  })
  return rows.map(({ owner, silent }) => ({ owner, silentMs: Math.max(0, Math.round(silent)) }))
}

/** Renews a worker's heartbeat; returns those of the others, and notes the positions of the read models. */
async function renewWorker(
  pool: Pool,
  owner: string,
  models: SeenModels | undefined,
): Promise<readonly Heartbeat[]> {
  const { rows } = await pool.query<Heartbeat & { readonly position: string | null }>({
    name: models === undefined ? 'workers-renew' : 'workers-renew-and-look',
    text: `with renewed as (
             insert into ops.workers (owner, seen_at) values ($1, clock_timestamp())
             on conflict (owner) do update set seen_at = excluded.seen_at)
           select owner, seen_at::text as beat, null::bigint as position
           from ops.workers where owner <> $1
           ${models === undefined ? '' : `union all select name, '', position from engine.checkpoints`}
           order by owner`,
    values: [owner],
  })
  const positions = rows.flatMap(({ owner: name, position }) =>
    position === null ? [] : [[name, BigInt(position)] as const],
  )
  models?.note(new Map(positions))
  return rows.filter(({ position }) => position === null)
}

/** Locks workers with unchanged heartbeats, for the first caller; returns their owners. */
async function takeSilentWorkers(
  client: PoolClient,
  silent: readonly Heartbeat[],
): Promise<readonly string[]> {
  const { rows } = await client.query<{ owner: string }>({
    name: 'workers-take-silent',
    text: `select w.owner from ops.workers w
           join unnest($1::text[], $2::text[]) as silent (owner, beat)
             on w.owner = silent.owner and w.seen_at::text = silent.beat
           order by w.owner for update of w`,
    values: [silent.map(({ owner }) => owner), silent.map(({ beat }) => beat)],
  })
  return rows.map(({ owner }) => owner)
}

/** Removes workers, whatever their heartbeats are. */
async function forgetWorkers(client: PoolClient, owners: readonly string[]): Promise<void> {
  await client.query({
    name: 'workers-forget',
    text: 'delete from ops.workers where owner = any($1::text[])',
    values: [owners],
  })
}

export const workerMigrations: Migrations = {
  // Existing databases have recorded these migrations under this name.
  owner: 'tasks/watch',
  steps: [
    // Databases from before migrations were numbered have this table.
    `
create table if not exists ops.workers (
  owner text primary key,
  seen_at timestamptz not null
);
`,
  ],
}
