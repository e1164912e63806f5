import type { Pool } from 'pg'
import { readCheckpoints } from '../../../../projections/engine/checkpoint.ts'
import { taskStream } from '../../../domain/task/events.ts'
import { closeSilentReplicas, purgeCallSpending } from '../../spending/call-spending.ts'
import type { TaskDeps } from '../deps.ts'

/**
 * Ends reservations: those that are projected, and those whose task never came to be. How long one
 * has stood as it is is measured from when it was first seen here: no clock of any machine that is set ends one.
 */

/** A reservation whose place in the log was never noted is looked up after this … */
const LOOK_UP_AFTER_MS = 5_000
/** … and given back after this if the log has nothing: over three times what an append can take. */
const GIVE_BACK_AFTER_MS = 30_000
const MAX_LOOK_UPS = 200
/** An admission under way may have read the balance of a moment ago: no reservation goes sooner. */
const KEEP_FOR_MS = 60_000

type SweepDeps = Pick<TaskDeps, 'pool' | 'monotonic'> & {
  readonly log: Pick<TaskDeps['log'], 'endPosition' | 'readStream'>
  readonly admissions: Pick<TaskDeps['admissions'], 'recorded'>
}

/** What was projected at a time; positions only grow, but for a read model that begins anew. */
interface Sample {
  readonly atMs: number
  readonly position: bigint
}

/** One round after the other, by one process. */
export function createReservationSweep(deps: SweepDeps): () => Promise<void> {
  let samples: readonly Sample[] = []
  /** When each was first seen without a place in the log, by what it was then. */
  let unplaced: ReadonlyMap<string, Unplaced & { readonly sinceMs: number }> = new Map()

  return async () => {
    const nowMs = deps.monotonic.nowMs()
    const position = await dropSpending(deps.pool)
    if (position !== undefined) {
      samples = [...samples, { atMs: nowMs, position }]
      const old = samples.filter(({ atMs }) => nowMs - atMs >= KEEP_FOR_MS)
      samples = samples.slice(Math.max(0, old.length - 1))
      const projected = old.at(-1)?.position
      if (projected !== undefined)
        await dropReservations(deps.pool, projected < position ? projected : position)
    }
    const found = await unplacedReservations(deps.pool)
    unplaced = new Map(
      found.map((one) => {
        const key = `${one.platformId}\n${one.admittedAt}`
        return [key, unplaced.get(key) ?? { ...one, sinceMs: nowMs }]
      }),
    )
    for (const one of unplaced.values()) await resolve(deps, one, nowMs - one.sinceMs)
    await closeSilentReplicas(deps.pool, () => deps.log.endPosition())
  }
}

/**
 * What all read models that take a reservation over have: holds are in the ledger, places of
 * concurrent tasks in the tasks. Undefined before they have begun.
 */
async function dropSpending(db: Pool): Promise<bigint | undefined> {
  const checkpoints = await readCheckpoints(db)
  const [ledger, tasks] = [checkpoints.get('ledger')?.position, checkpoints.get('tasks')?.position]
  if (ledger === undefined || tasks === undefined) return undefined
  await purgeCallSpending(db, ledger)
  return ledger < tasks ? ledger : tasks
}

async function dropReservations(db: Pool, position: bigint): Promise<void> {
  await db.query('delete from ops.admissions where position <= $1', [position])
}

/** A reservation as it was seen: one that is renewed under an `Idempotency-Key` is another. */
interface Unplaced {
  readonly platformId: string
  /** As Postgres says it, to the microsecond. */
  readonly admittedAt: string
}

/** Reservations left by a process that died, whose note was lost, or which is just being written. */
async function unplacedReservations(db: Pool): Promise<readonly Unplaced[]> {
  const { rows } = await db.query<{ platform_id: string; admitted_at: string }>(
    `select platform_id, admitted_at::text from ops.admissions where position is null
     order by admitted_at, platform_id limit $1`,
    [MAX_LOOK_UPS],
  )
  return rows.map((row) => ({ platformId: row.platform_id, admittedAt: row.admitted_at }))
}

/** The log says what it is. */
async function resolve(deps: SweepDeps, seen: Unplaced, seenForMs: number): Promise<void> {
  const { platformId } = seen
  if (seenForMs < LOOK_UP_AFTER_MS) return
  const [first] = await deps.log.readStream(taskStream(platformId), { limit: 1 })
  if (first !== undefined) await deps.admissions.recorded(platformId, first.position)
  else if (seenForMs > GIVE_BACK_AFTER_MS) await withdraw(deps.pool, seen)
}

/** Only as it was seen: since the log was asked it may have been renewed, or recorded. */
async function withdraw(db: Pool, { platformId, admittedAt }: Unplaced): Promise<void> {
  await db.query(
    `delete from ops.admissions
     where platform_id = $1 and position is null and admitted_at = $2::timestamptz`,
    [platformId, admittedAt],
  )
}
