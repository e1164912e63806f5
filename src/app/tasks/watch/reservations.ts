import type { Pool } from 'pg'
import { readCheckpoints } from '../../../../projections/engine/checkpoint.ts'
import { taskStream } from '../../../domain/task/events.ts'
import { giveUpLostSpools } from '../../spending/lost-spools.ts'
import { runEach } from '../../../kernel/all-settled.ts'
import { closeSilentReplicas, purgeSpending } from '../../spending/replica-reports.ts'
import type { TaskDeps } from '../deps.ts'

/**
 * Ends reservations that are projected, and those whose task was never recorded, or is not any more
 * because the log went back. A reservation's
 * age is measured from when this process first saw it unchanged, so that setting a machine's clock
 * never ends one.
 */

/** A reservation whose noted log position is missing, or not reached, is looked up after this time. */
const LOOK_UP_AFTER_MS = 5_000
/** A reservation of which the log has nothing is released after this: over three times what an append can take. */
const GIVE_BACK_AFTER_MS = 30_000
const MAX_LOOK_UPS = 200
/** A running admission may have read an earlier balance: no reservation is deleted sooner. */
const KEEP_FOR_MS = 60_000

type SweepDeps = Pick<TaskDeps, 'pool' | 'monotonic' | 'logger'> & {
  readonly log: Pick<TaskDeps['log'], 'append' | 'endPosition' | 'readStream'>
  readonly admissions: Pick<TaskDeps['admissions'], 'recorded'>
}

/** The position projected at a time; positions only grow, except when a read model is rebuilt. */
interface Sample {
  readonly atMs: number
  readonly position: bigint
}

/** Each call is one round of the sweep, all by one process. */
export function createReservationSweep(deps: SweepDeps): () => Promise<void> {
  let samples: readonly Sample[] = []
  /** Time at which each was first seen without a log position, and its state then. */
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
    const found = await unplacedReservations(deps.pool, position ?? -1n)
    unplaced = new Map(
      found.map((one) => {
        const key = `${one.platformId}\n${one.admittedAt}\n${one.position}`
        return [key, unplaced.get(key) ?? { ...one, sinceMs: nowMs }]
      }),
    )
    await runEach([
      () => closeSilentReplicas(deps.pool, position ?? -1n, () => deps.log.endPosition()),
      async () => {
        for (const { data } of await giveUpLostSpools(deps.pool, deps.log))
          deps.logger.error(
            { lost: data },
            'a lost spool was given up: what waited in it is not billed',
          )
      },
      ...[...unplaced.values()].map((one) => () => resolve(deps, one, nowMs - one.sinceMs)),
    ])
  }
}

/**
 * The position that both read models have reached: the ledger takes over holds, the tasks
 * projection takes over places of concurrent tasks. Undefined before they have begun.
 */
async function dropSpending(db: Pool): Promise<bigint | undefined> {
  const checkpoints = await readCheckpoints(db)
  const [ledger, tasks] = [checkpoints.get('ledger')?.position, checkpoints.get('tasks')?.position]
  if (ledger === undefined || tasks === undefined) return undefined
  await purgeSpending(db, ledger)
  return ledger < tasks ? ledger : tasks
}

async function dropReservations(db: Pool, position: bigint): Promise<void> {
  const text = 'delete from ops.admissions where position <= $1'
  await db.query({ name: 'admissions-drop', text, values: [position] })
}

/**
 * A reservation in the state in which it was read: if it is renewed under an `Idempotency-Key`, it
 * counts as another one.
 */
interface Unplaced {
  readonly platformId: string
  /** Text of the time as Postgres prints it, to the microsecond. */
  readonly admittedAt: string
  readonly position: string | null
}

/**
 * Reservations without a log position: their process died, the note was lost, or it is being written.
 * And reservations at a position that the projector has not reached: after a moment it has, unless the
 * log went back.
 */
async function unplacedReservations(db: Pool, projected: bigint): Promise<readonly Unplaced[]> {
  const { rows } = await db.query<Unplaced>({
    name: 'admissions-unplaced',
    text: `select platform_id as "platformId", admitted_at::text as "admittedAt", position
           from ops.admissions where position is null or position > $2
           order by admitted_at, platform_id limit $1`,
    values: [MAX_LOOK_UPS, projected],
  })
  return rows
}

/** Asks the log whether the task was recorded. */
async function resolve(deps: SweepDeps, seen: Unplaced, seenForMs: number): Promise<void> {
  const { platformId } = seen
  if (seenForMs < LOOK_UP_AFTER_MS) return
  const [first] = await deps.log.readStream(taskStream(platformId), { limit: 1 })
  if (first !== undefined) await deps.admissions.recorded(platformId, first.position)
  else if (seenForMs > GIVE_BACK_AFTER_MS) await releaseUnplaced(deps.pool, seen)
}

/** Deletes it only if unchanged: it may have been renewed or recorded since the log was asked. */
async function releaseUnplaced(db: Pool, one: Unplaced): Promise<void> {
  await db.query(
    `delete from ops.admissions
     where platform_id = $1 and position is not distinct from $3 and admitted_at = $2::timestamptz`,
    [one.platformId, one.admittedAt, one.position],
  )
}
