import type { PoolClient } from 'pg'
import type { Queryable } from './queryable.ts'

/** What of an event a read model did not take in, and why, so that it is never silent. */
export interface PassedOver {
  /** The read model, also where it is being rebuilt. */
  readonly projection: string
  readonly position: bigint
  readonly eventId: string
  readonly reason: string
}

/** Notes it with the batch that it is part of: a rebuild notes the same. */
export async function notePassedOver(
  client: PoolClient,
  { projection, position, eventId, reason }: PassedOver,
): Promise<void> {
  await client.query({
    name: 'engine.passed_over.write',
    text: `insert into engine.passed_over (projection, position, event_id, reason)
           values ($1, $2, $3, $4) on conflict (projection, position) do nothing`,
    values: [projection, position, eventId, reason],
  })
}

/** How many events of a read model were passed over. */
export async function countPassedOver(db: Queryable, projection: string): Promise<number> {
  const { rows } = await db.query<{ n: string }>(
    'select count(*) as n from engine.passed_over where projection = $1',
    [projection],
  )
  return Number(rows[0]?.n ?? 0)
}
