import type { Queryable } from '../../../projections/engine/queryable.ts'
import { hasHoldSql, ledgerBalancesSql } from '../../../projections/ledger/query.ts'
import { type Currency, parseAmount } from '../../kernel/money.ts'
import { isFreshSql, SILENT_REPLICA_MS } from './replica-reports.ts'

/** Amount that a tenant may still spend, as known at one moment. */
export interface Spendable {
  /** In pico; a currency the tenant never had is absent. */
  readonly available: ReadonlyMap<Currency, bigint>
  /** The ledger has the events up to here. */
  readonly position: bigint
  /** Neither a reservation of a task nor a report of a replica counts in it. */
  readonly isOfLedgerAlone: boolean
}

/** Before the ledger first ran. */
const NOTHING: Spendable = { available: new Map(), position: -1n, isOfLedgerAlone: false }

/**
 * Balances of tenants, as expressions of a `with`, the last of them `spendable`: `tenant_id`,
 * `currency`, `position`, `granted`, `adjusted`, its part `refunded`, `settled`, `credit_limit`,
 * `held`, `beyond` and `amount`, the amount they may still spend. `held` adds to the ledger's holds `beyond`: those of
 * admitted tasks (`reserved`) and of the calls of replicas (`reported`) that the ledger does not have yet. Its
 * first placeholders are `spendableValues`.
 */
export const spendableSql = `ledger as (${ledgerBalancesSql}),
           reserved as (
             select a.tenant_id, a.currency, sum(a.hold) as amount
             from ops.admissions a join ledger l using (tenant_id, currency)
             where coalesce(a.position, 9223372036854775807) > l.position
               -- The ledger may be quicker than the note of where the hold stands.
               and not (a.position is null and ${hasHoldSql('a.platform_id')})
             group by a.tenant_id, a.currency),
           reported as (
             select t.tenant_id, t.currency,
                    -- Holds of a replica that died are over once the ledger has all that it can have
                    -- settled; one that lives reports again within a second.
                    sum(case when not (${isFreshSql('t.told_at', '$3')})
                                  and t.closed <= l.position
                             then case when t.spool is null or t.position <= l.position
                                       then 0 else t.settled end
                             else t.held
                                  + case when t.position <= l.position then 0 else t.settled end
                        end) as amount
             from ops.text_spending t join ledger l using (tenant_id, currency)
             where t.replica <> $2
             group by t.tenant_id, t.currency),
           summed as (
             select tenant_id, currency, l.position, l.granted, l.adjusted, l.refunded, l.settled,
                    l.credit_limit, l.held as ledger_held,
                    coalesce(r.amount, 0) + coalesce(t.amount, 0) as beyond
             from ledger l
             left join reserved r using (tenant_id, currency)
             left join reported t using (tenant_id, currency)),
           spendable as (
             select *, ledger_held + beyond as held,
                    granted + adjusted + credit_limit - settled - ledger_held - beyond as amount
             from summed)`

export function spendableValues(
  tenantIds: readonly string[],
  exceptReplica = '',
): readonly [readonly string[], string, number] {
  return [tenantIds, exceptReplica, SILENT_REPLICA_MS]
}

/**
 * Reads the amounts that tenants may spend: the ledger's balances, less the admitted tasks and the
 * reported calls that the ledger does not have. It is one statement, so that all figures are read
 * at the same moment. A task's hold is counted once, in the ledger or among the admitted tasks. A
 * settlement since a replica's last report is counted twice until its next report, but never
 * missed.
 */
export async function readSpendable(
  db: Queryable,
  tenantIds: readonly string[],
  exceptReplica = '',
): Promise<ReadonlyMap<string, Spendable>> {
  const { rows } = await db.query<{
    tenant_id: string
    currency: Currency
    position: string
    spendable: string
    is_of_ledger_alone: boolean
  }>({
    name: 'spendable',
    text: `with ${spendableSql}
           select tenant_id, currency, position, amount::text as spendable,
                  beyond = 0 as is_of_ledger_alone
           from spendable`,
    values: [...spendableValues(tenantIds, exceptReplica)],
  })
  const found = new Map<string, Spendable>()
  for (const { tenant_id: tenantId, currency, position, spendable, ...row } of rows) {
    const before = found.get(tenantId)
    const available = new Map([...(before?.available ?? []), [currency, parseAmount(spendable)]])
    const isOfLedgerAlone = row.is_of_ledger_alone && before?.isOfLedgerAlone !== false
    found.set(tenantId, { available, position: BigInt(position), isOfLedgerAlone })
  }
  return new Map(tenantIds.map((id) => [id, found.get(id) ?? NOTHING]))
}
