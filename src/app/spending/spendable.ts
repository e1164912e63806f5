import type { Queryable } from '../../../projections/engine/queryable.ts'
import { availablesAsOf } from '../../../projections/ledger/query.ts'
import { type Currency, parseAmount } from '../../kernel/money.ts'
import { type Spending, toldSpending } from './call-spending.ts'

/** What a tenant may still spend, as known at one moment. */
export interface Spendable {
  /** In pico; a currency the tenant never had anything in is absent. */
  readonly available: ReadonlyMap<Currency, bigint>
  /** The ledger has the events up to here. */
  readonly position: bigint
}

/**
 * What tenants may spend: the ledger's balances, less the tasks that were admitted and the calls
 * that were told of and are not in it. Tellings are read first: what the ledger takes in after that
 * is counted twice for a moment, never not at all; reservations outlive their projection by a while.
 */
export async function readSpendable(
  db: Queryable,
  tenantIds: readonly string[],
  exceptReplica?: string,
): Promise<ReadonlyMap<string, Spendable>> {
  const told = await toldSpending(db, tenantIds, exceptReplica)
  const { position, rows } = await availablesAsOf(db, tenantIds)
  const reserved = await reservations(db, tenantIds, position)
  const found = new Map(
    tenantIds.map((id) => [id, { available: new Map<Currency, bigint>(), position }]),
  )
  for (const { tenantId, currency, availablePico } of rows)
    found.get(tenantId)?.available.set(currency, availablePico)
  for (const { tenantId, currency, pico } of [...reserved, ...told.map(stillSpoken(position))]) {
    const available = found.get(tenantId)?.available
    const before = available?.get(currency)
    if (before !== undefined) available?.set(currency, before - pico)
  }
  return found
}

/** Of what was told, what a ledger at this position does not have. */
function stillSpoken(position: bigint) {
  return ({ tenantId, currency, heldPico, settledPico, position: last }: Spending) => ({
    tenantId,
    currency,
    pico: heldPico + (last !== undefined && last <= position ? 0n : settledPico),
  })
}

/** Tasks that were admitted and are not in a ledger at this position. */
async function reservations(db: Queryable, tenantIds: readonly string[], position: bigint) {
  const { rows } = await db.query<{ tenant_id: string; currency: Currency; reserved: string }>({
    name: 'spendable-reserved',
    text: `select tenant_id, currency, sum(hold)::text as reserved from ops.admissions
           where tenant_id = any($1::text[]) and coalesce(position, 9223372036854775807) > $2
           group by tenant_id, currency`,
    values: [tenantIds, position],
  })
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    currency: row.currency,
    pico: parseAmount(row.reserved),
  }))
}
