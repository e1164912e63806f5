import type { Pool, PoolClient } from 'pg'
import { placeOf, type LogPosition } from '../../src/eventlog/log/position.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { moveCheckpoint, type Step } from './checkpoint.ts'
import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'
import { isTransient } from './failures.ts'
import { isOutOfOrder, notePassedOver } from './passed-over.ts'
import { failingByFirst, inSchema } from './transaction.ts'
import type { Projection } from './types.ts'

/** Events of our namespace in order, and the place that everything up to was considered. */
export interface Batch {
  readonly events: readonly RecordedEvent[]
  /** At or behind the last event's own place. */
  readonly at: LogPosition
}

/** The schema in which a batch is applied: the live one, or that of a rebuild. */
interface Target {
  readonly projection: Projection
  /** The schema of the tables, and the name of the checkpoint. */
  readonly schema: string
}

/** The one event that a projection cannot apply; everything before it is applied. */
export class PoisonEventError extends Error {
  override readonly name = 'PoisonEventError'
  readonly event: RecordedEvent
  /** Position of the checkpoint: just before the event. */
  readonly appliedTo: LogPosition

  constructor(event: RecordedEvent, appliedTo: LogPosition, cause: unknown) {
    super(
      `cannot apply ${event.type} at ${event.position}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    )
    this.event = event
    this.appliedTo = appliedTo
  }
}

/** The step of a batch for a checkpoint at `from`. */
export function stepOf(batch: Batch, from: LogPosition): Step {
  const last = batch.events.at(-1)
  return {
    from,
    to: batch.at,
    events: batch.events.length,
    recordedAt: last?.recordedAt,
    lastEvent: last && { id: last.id, stream: last.stream, revision: String(last.revision) },
  }
}

/**
 * Applies a batch and moves the checkpoint in one transaction; the checkpoint comes first. The rest
 * does not wait for its result: if another process moved it, everything is rolled back.
 */
async function applyOnce(
  pool: Pool,
  target: Target,
  batch: Batch,
  from: LogPosition,
  apply: Projection['apply'] = target.projection.apply,
): Promise<void> {
  const handled = batch.events.filter((event) => target.projection.handles.has(event.type))
  await inSchema(pool, target.schema, async (client) => {
    const { version } = target.projection
    const moved = moveCheckpoint(client, {
      name: target.schema,
      version,
      step: stepOf(batch, from),
    })
    const applied = handled.length > 0 ? apply(failingByFirst(client), handled) : undefined
    await allSettledOrThrow([moved, applied]).catch(async (error: unknown) => {
      // A checkpoint that another process moved explains any other failure.
      await moved
      throw error
    })
  })
}

/** Notes an event in place of applying it. */
function passingOver(
  { name: projection }: Projection,
  { position, id: eventId }: RecordedEvent,
  { message: reason }: Error,
): Projection['apply'] {
  return (client) => notePassedOver(client, { projection, position, eventId, reason })
}

/**
 * Applies events inside the caller's transaction, and passes over those that are out of order.
 * @throws whatever the projection threw otherwise; nothing of the transaction is kept then
 */
export async function applyWithin(
  client: PoolClient,
  projection: Projection,
  events: readonly RecordedEvent[],
): Promise<void> {
  const [first, ...others] = events
  if (first === undefined) return
  await client.query('savepoint events')
  try {
    await projection.apply(failingByFirst(client), events)
    await client.query('release savepoint events')
  } catch (error) {
    const alone = others.length === 0
    if (isTransient(error) || (alone && !isOutOfOrder(error, projection))) throw error
    await client.query('rollback to savepoint events; release savepoint events')
    if (alone && isOutOfOrder(error, projection))
      return passingOver(projection, first, error)(client, events)
    const half = Math.ceil(events.length / 2)
    await applyWithin(client, projection, events.slice(0, half))
    await applyWithin(client, projection, events.slice(half))
  }
}

/**
 * Applies a batch to a target whose checkpoint is at `from`. When an event cannot be applied,
 * halves the batch until it is found, so that everything before it is applied; one that is out of
 * order is then passed over.
 * @throws PoisonEventError naming the event; CheckpointMovedError when another process leads;
 * whatever the connection threw otherwise.
 */
export async function applyBatch(
  pool: Pool,
  target: Target,
  batch: Batch,
  from: LogPosition,
): Promise<void> {
  try {
    await applyOnce(pool, target, batch, from)
  } catch (error) {
    const [first, ...others] = batch.events
    if (first === undefined || isTransient(error)) throw error
    if (others.length === 0) {
      if (!isOutOfOrder(error, target.projection)) throw new PoisonEventError(first, from, error)
      const passOver = passingOver(target.projection, first, error)
      return applyOnce(pool, target, batch, from, passOver)
    }
    const half = Math.ceil(batch.events.length / 2)
    const head = batch.events.slice(0, half)
    const last = head.at(-1)
    const middle = last === undefined ? from : placeOf(last.position)
    await applyBatch(pool, target, { events: head, at: middle }, from)
    const tail = batch.events.slice(half)
    await applyBatch(pool, target, { events: tail, at: batch.at }, middle)
  }
}
