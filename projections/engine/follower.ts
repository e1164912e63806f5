import type { Pool, PoolClient } from 'pg'
import { eventsThrough, isBehind, type LogPosition } from '../../src/eventlog/log/position.ts'
import { toTimestamp, type Clock } from '../../src/kernel/clock.ts'
import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'
import { applyBatch, stepOf, PoisonEventError, type Batch } from './apply.ts'
import {
  BEFORE_FIRST,
  type Checkpoint,
  type EventReference,
  lockCheckpoint,
  moveCheckpoints,
  recordStopped,
  resetCheckpoint,
} from './checkpoint.ts'
import { CheckpointMovedError, messageOf, type StopReason } from './failures.ts'
import { lockUntilCommit } from './leadership.ts'
import { createIndexes, createSchema, schemaExists } from './schema.ts'
import { inSchema } from './transaction.ts'
import type { Projection } from './types.ts'

export type FollowerState = 'following' | 'rebuilding' | 'stopped'

/** One projection that the leader updates. */
export interface Follower {
  readonly projection: Projection
  /** Says when it was stopped. */
  readonly clock: Clock
  state: FollowerState
  at: LogPosition
  /** Events considered so far. */
  events: bigint
  recordedAt: Date | undefined
  lastEvent: EventReference | undefined
  indexed: boolean
  stopped: StopReason | undefined
}

/** Stops a projection and notes it where every process can see it. */
export async function stopFollower(
  pool: Pool,
  follower: Follower,
  reason: Omit<StopReason, 'at'>,
): Promise<void> {
  follower.state = 'stopped'
  follower.stopped = { ...reason, at: toTimestamp(follower.clock.nowMs()) }
  await recordStopped(pool, follower.projection.name, follower.stopped)
}

/** Checkpoint; undefined if its tables were created just now. */
async function findOrCreate(
  client: PoolClient,
  projection: Projection,
): Promise<Checkpoint | undefined> {
  const { name, version } = projection
  await lockUntilCommit(client, `prepare.${name}`)
  const found = await lockCheckpoint(client, name)
  if (found !== undefined && (await schemaExists(client, name))) return found
  await resetCheckpoint(client, name, version)
  await createSchema(client, projection, name)
  return undefined
}

/** Creates the tables of a projection that never ran, or whose schema is gone. */
export async function prepareTables(pool: Pool, projection: Projection): Promise<void> {
  await inSchema(pool, 'public', (client) => findOrCreate(client, projection))
}

/**
 * Finds the position of a projection; creates its tables if it never ran or its schema is gone. A
 * projection of another version is not changed: an older one needs a rebuild, a newer one newer
 * code.
 */
export async function prepareFollower(
  pool: Pool,
  projection: Projection,
  clock: Clock,
): Promise<Follower> {
  const { version } = projection
  return inSchema(pool, 'public', async (client) => {
    const found = await findOrCreate(client, projection)
    const same = found === undefined || found.version === version
    const newer = found !== undefined && found.version > version
    return {
      projection,
      clock,
      state: same ? 'following' : newer ? 'stopped' : 'rebuilding',
      at: found?.at ?? BEFORE_FIRST,
      events: found?.events ?? 0n,
      recordedAt: found?.recordedAt,
      lastEvent: found?.lastEvent,
      indexed: found?.indexed ?? false,
      stopped: newer
        ? {
            kind: 'newer_version',
            reason: `the database has version ${found.version}, this program ${version}`,
            at: toTimestamp(clock.nowMs()),
          }
        : undefined,
    }
  })
}

/** The part of a batch that a follower has not seen, or undefined when it has seen all of it. */
function unseen(follower: Follower, batch: Batch): Batch | undefined {
  if (!isBehind(batch.at, follower.at)) return undefined
  const seen = eventsThrough(follower.at)
  const [first] = batch.events
  if (first === undefined || first.position > seen) return batch
  return { events: batch.events.filter((event) => event.position > seen), at: batch.at }
}

function moved(follower: Follower, batch: Batch): void {
  follower.at = batch.at
  follower.events += BigInt(batch.events.length)
  follower.recordedAt = batch.events.at(-1)?.recordedAt ?? follower.recordedAt
}

/** Applies a batch; a poison event stops this follower only. */
async function advanceOne(pool: Pool, follower: Follower, batch: Batch): Promise<void> {
  const { projection } = follower
  try {
    await applyBatch(pool, { projection, schema: projection.name }, batch, follower.at)
    moved(follower, batch)
  } catch (error) {
    if (!(error instanceof PoisonEventError)) throw error
    const applied = batch.events.filter((event) => event.position < error.event.position)
    moved(follower, { events: applied, at: error.appliedTo })
    await stopFollower(pool, follower, {
      kind: 'cannot_apply',
      reason: messageOf(error.cause),
      position: error.event.position.toString(),
      eventId: error.event.id,
      type: error.event.type,
    })
  }
}

/** Moves the checkpoints of followers that handle nothing in the batch, in one statement. */
async function advanceIdle(
  pool: Pool,
  idle: readonly { readonly follower: Follower; readonly batch: Batch }[],
): Promise<void> {
  if (idle.length === 0) return
  const moves = idle.map(({ follower, batch }) => ({
    name: follower.projection.name,
    version: follower.projection.version,
    step: stepOf(batch, follower.at),
  }))
  await inSchema(pool, 'engine', (client) => moveCheckpoints(client, moves))
  for (const { follower, batch } of idle) moved(follower, batch)
}

/**
 * Applies a batch to every follower, in parallel. Waits for all of them before it throws, so that
 * none of its transactions is open at the next start.
 */
export async function advanceAll(
  pool: Pool,
  followers: readonly Follower[],
  batch: Batch,
): Promise<void> {
  const work: Promise<void>[] = []
  const idle: { follower: Follower; batch: Batch }[] = []
  for (const follower of followers) {
    if (follower.state !== 'following') continue
    const mine = unseen(follower, batch)
    if (mine === undefined) continue
    if (mine.events.some((event) => follower.projection.handles.has(event.type)))
      work.push(advanceOne(pool, follower, mine))
    else idle.push({ follower, batch: mine })
  }
  work.push(advanceIdle(pool, idle))
  await allSettledOrThrow(work)
}

/** Makes the secondary indexes of a follower once the first bulk of events is in. */
export async function indexFollower(pool: Pool, follower: Follower): Promise<void> {
  const { name } = follower.projection
  await inSchema(pool, name, async (client) => {
    // Building an index over millions of rows takes as long as it takes.
    await client.query('set local statement_timeout to 0')
    const found = await lockCheckpoint(client, name)
    if (found === undefined || isBehind(found.at, follower.at) || isBehind(follower.at, found.at))
      throw new CheckpointMovedError(name)
    await createIndexes(client, follower.projection, name)
    await client.query('update engine.checkpoints set indexed = true where name = $1', [name])
  })
  follower.indexed = true
}
