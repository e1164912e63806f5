import { DatabaseError } from 'pg'
import type { Queryable } from './queryable.ts'
import type { Projection } from './types.ts'

const UNIQUE_VIOLATION = '23505'

/**
 * An event that contradicts earlier ones: an end whose beginning the log lacks, or a second
 * beginning. One such event must not stop a read model for every tenant: the engine passes it over
 * and notes it, and the rows stay as the earlier events left them.
 */
export class OutOfOrderError extends Error {
  override readonly name = 'OutOfOrderError'
}

/** @throws OutOfOrderError where an event does not follow from those before it */
export function expectInOrder(condition: unknown, message: string): asserts condition {
  if (!condition) throw new OutOfOrderError(message)
}

/** Whether what a projection threw for one event says that this is out of order. */
export function isOutOfOrder(error: unknown, { tables = [] }: Projection): error is Error {
  if (error instanceof OutOfOrderError) return true
  if (!(error instanceof DatabaseError) || error.code !== UNIQUE_VIOLATION) return false
  return tables.some(({ name, record }) => record.once && name.endsWith(`.${error.table}`))
}

/** An event that a read model passed over. */
export interface PassedOver {
  /** The read model, also where it is being rebuilt. */
  readonly projection: string
  readonly position: bigint
  readonly eventId: string
  readonly reason: string
}

/** Notes it with the batch that it is part of: a rebuild notes the same. */
export async function notePassedOver(
  client: Queryable,
  { projection, position, eventId, reason }: PassedOver,
): Promise<void> {
  await client.query({
    name: 'engine.passed_over.write',
    text: `insert into engine.passed_over (projection, position, event_id, reason)
           values ($1, $2, $3, $4) on conflict (projection, position) do nothing`,
    values: [projection, position, eventId, reason],
  })
}

/** Number of events that each read model passed over, by its name; none where it is absent. */
export async function countPassedOver(db: Queryable): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ projection: string; n: string }>({
    name: 'engine.passed_over.count',
    text: 'select projection, count(*) as n from engine.passed_over group by projection',
  })
  return new Map(rows.map(({ projection, n }) => [projection, Number(n)]))
}

/** The first events that were passed over, in the order of the log. */
export async function readPassedOver(db: Queryable, limit: number): Promise<readonly PassedOver[]> {
  const { rows } = await db.query<PassedOver & { readonly position: string }>(
    `select projection, position, event_id as "eventId", reason
     from engine.passed_over order by position, projection limit $1`,
    [limit],
  )
  return rows.map((row) => ({ ...row, position: BigInt(row.position) }))
}
