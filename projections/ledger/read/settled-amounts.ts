import type { Queryable } from '../../engine/queryable.ts'

/** What a source was settled for: exact decimal. */
export interface SettledAmount {
  readonly currency: string
  readonly amount: string
}

/** What these sources were settled for, by their ids; one that is not settled is not in it. */
export async function settledAmounts(
  db: Queryable,
  sourceIds: readonly string[],
): Promise<ReadonlyMap<string, SettledAmount>> {
  const { rows } = await db.query<SettledAmount & { source_id: string }>({
    name: 'ledger.settled',
    text: `select source_id, currency, trim_scale(amount)::text as amount
           from ledger.settlements where source_id = any($1::text[])`,
    values: [sourceIds],
  })
  return new Map(rows.map(({ source_id: id, currency, amount }) => [id, { currency, amount }]))
}
