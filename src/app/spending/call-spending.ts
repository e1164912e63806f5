import type { Pool } from 'pg'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { type Currency, formatAmount } from '../../kernel/money.ts'

/**
 * What replicas tell each other of the calls they have in flight (`ops.text_spending`), and
 * admissions of tasks read. Only the database's clock says how old a telling is.
 */

/** A replica that told nothing for this long has died, and its calls with it: nobody is billed. */
export const SILENT_REPLICA_MS = 30_000
/** What a dead replica settled without knowing where in the log is in the ledger after this. */
const FORGET_AFTER_MS = 120_000
const PURGE_LIMIT = 5_000

/** What is spoken for of one balance, or of one budget in one of its periods. */
export interface Spending {
  /** Of a budget its name, which no tenant has. */
  readonly tenantId: string
  readonly currency: Currency
  /** Holds of calls in flight. */
  readonly heldPico: bigint
  /** Settled, and not known to be in the ledger. */
  readonly settledPico: bigint
  /** Of the last settlement; undefined where one of them has no known place in the log. */
  readonly position: bigint | undefined
}

/** Says what a replica has spoken for; a later turn is never overwritten by an earlier one. */
export async function tellSpending(
  db: Queryable,
  teller: { readonly replica: string; readonly turn: number },
  spending: readonly Spending[],
): Promise<void> {
  if (spending.length === 0) return
  await db.query({
    name: 'call-spending-tell',
    text: `insert into ops.text_spending as s
             (tenant_id, currency, replica, held, settled, position, turn, told_at)
           select tenant_id, currency, $1, held, settled, position, $2, clock_timestamp()
           from unnest($3::text[], $4::text[], $5::numeric[], $6::numeric[], $7::bigint[])
             as t (tenant_id, currency, held, settled, position)
           -- Always in one order: two tellings at once must not wait for each other crosswise.
           order by tenant_id, currency
           on conflict (tenant_id, currency, replica) do update
           set held = excluded.held, settled = excluded.settled, position = excluded.position,
               turn = excluded.turn, told_at = excluded.told_at
           where s.turn < excluded.turn`,
    values: [
      teller.replica,
      teller.turn,
      spending.map(({ tenantId }) => tenantId),
      spending.map(({ currency }) => currency),
      spending.map(({ heldPico }) => formatAmount(heldPico)),
      spending.map(({ settledPico }) => formatAmount(settledPico)),
      spending.map(({ position }) => position ?? null),
    ],
  })
}

/** Drops what dead replicas left and the ledger has, a bounded number at a time. */
export async function purgeCallSpending(db: Pool, ledgerPosition: bigint): Promise<void> {
  await db.query(
    `delete from ops.text_spending where (tenant_id, currency, replica) in (
       select tenant_id, currency, replica from ops.text_spending
       where abs(extract(epoch from clock_timestamp() - told_at)) > $1::float8 / 1000
         and (settled = 0 or coalesce(position, 0) <= $2) limit $3)`,
    [FORGET_AFTER_MS, ledgerPosition, PURGE_LIMIT],
  )
}
