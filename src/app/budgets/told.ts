import type { Queryable } from '../../../projections/engine/queryable.ts'
import { type Currency, parseAmount } from '../../kernel/money.ts'
import { SILENT_REPLICA_MS } from '../spending/call-spending.ts'

/** What another replica told of one key and currency. */
export interface Told {
  readonly currency: Currency
  readonly heldPico: bigint
  readonly settledPico: bigint
  /** Of the last settlement; undefined where one of them has no known place in the log. */
  readonly position: bigint | undefined
}

/** What the other replicas told that they have spoken for, by key; what a dead one held is over. */
export async function readTold(
  db: Queryable,
  keys: readonly string[],
  exceptReplica: string,
): Promise<ReadonlyMap<string, readonly Told[]>> {
  const { rows } = await db.query<{
    key: string
    currency: Currency
    held: string
    settled: string
    position: string | null
  }>({
    name: 'budgets-told',
    text: `select tenant_id as key, currency, settled::text, position,
                  (case when abs(extract(epoch from clock_timestamp() - told_at)) < $3::float8 / 1000
                        then held else 0 end)::text as held
           from ops.text_spending where tenant_id = any($1::text[]) and replica <> $2`,
    values: [keys, exceptReplica, SILENT_REPLICA_MS],
  })
  const told = new Map<string, Told[]>()
  for (const { key, currency, held, settled, position } of rows) {
    const of = told.get(key) ?? []
    of.push({
      currency,
      heldPico: parseAmount(held),
      settledPico: parseAmount(settled),
      position: position === null ? undefined : BigInt(position),
    })
    told.set(key, of)
  }
  return told
}
