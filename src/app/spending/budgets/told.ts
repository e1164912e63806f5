import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { type Currency, parseAmount } from '../../../kernel/money.ts'
import { isFreshSql, SILENT_REPLICA_MS } from '../call-spending.ts'

/** What another replica reported for one key and currency. */
interface Told {
  readonly currency: Currency
  readonly heldPico: bigint
  readonly settledPico: bigint
  /** Position of the last settlement; undefined when the position of one is unknown. */
  readonly position: bigint | undefined
  /** Settlements may wait in a spool. */
  readonly isSpooled: boolean
  /** Set once the replica died: up to here the log has all it settled, except spooled ones. */
  readonly closed: bigint | undefined
}

/** Reads what the other replicas reported as spent or held, by key. */
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
    is_spooled: boolean
    closed: string | null
  }>({
    name: 'budgets-told',
    text: `select tenant_id as key, currency, held::text, settled::text, position,
                  spool is not null as is_spooled,
                  case when ${isFreshSql('told_at', '$3')} then null else closed end as closed
           from ops.text_spending where tenant_id = any($1::text[]) and replica <> $2`,
    values: [keys, exceptReplica, SILENT_REPLICA_MS],
  })
  const told = new Map<string, Told[]>()
  for (const row of rows) {
    const { key, currency, held, settled, position, closed } = row
    const of = told.get(key) ?? []
    of.push({
      currency,
      heldPico: parseAmount(held),
      settledPico: parseAmount(settled),
      position: position === null ? undefined : BigInt(position),
      isSpooled: row.is_spooled,
      closed: closed === null ? undefined : BigInt(closed),
    })
    told.set(key, of)
  }
  return told
}
