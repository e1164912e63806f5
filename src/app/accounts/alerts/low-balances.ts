import { thresholdsSql } from '../../../../projections/access/query.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { remainingSql } from '../../../../projections/ledger/query.ts'
import type { Currency } from '../../../kernel/money.ts'

/** A balance that has become low since the last round. */
interface NewLowBalance {
  readonly tenantId: string
  readonly currency: Currency
  /** Decimal strings. */
  readonly below: string
  readonly balance: string
}

/** A tenant that never used a currency has a balance of zero in it. */
const lowBalancesSql = `
  select t.tenant_id, t.currency, t.below, coalesce(b.balance, 0) as balance,
         coalesce(b.position, -1) as position
  from (${thresholdsSql}) t left join (${remainingSql}) b using (tenant_id, currency)
  where coalesce(b.balance, 0) < t.below`

/**
 * Records which balances are low now, and deletes those that are not any more, so that they are
 * alerted again the next time. An alert whose threshold was removed is deleted as well.
 */
export async function recordLowBalances(
  db: Queryable,
  newAlertId: string,
): Promise<readonly NewLowBalance[]> {
  const { rows } = await db.query<{
    tenant_id: string
    currency: Currency
    below: string
    balance: string
  }>({
    name: 'low-balances-record',
    text: `with low as materialized (${lowBalancesSql}),
           gone as (
             delete from ops.low_balances a
             where not exists (select from low l where l.tenant_id = a.tenant_id
                                                   and l.currency = a.currency))
           insert into ops.low_balances
             (tenant_id, currency, alert_id, below, balance, position, seen_at, next_try_at)
           select tenant_id, currency, $1 || '_' || row_number() over (order by tenant_id, currency),
                  below, balance, position, clock_timestamp(), clock_timestamp()
           from low
           on conflict (tenant_id, currency) do nothing
           returning tenant_id, currency, trim_scale(below)::text as below,
                     trim_scale(balance)::text as balance`,
    values: [newAlertId],
  })
  return rows.map(({ tenant_id: tenantId, ...rest }) => ({ tenantId, ...rest }))
}

/** Number of low balances, by currency. */
export async function countLowBalances(db: Queryable): Promise<ReadonlyMap<Currency, number>> {
  const { rows } = await db.query<{ currency: Currency; count: string }>({
    name: 'low-balances-count',
    text: 'select currency, count(*) from ops.low_balances group by currency',
  })
  return new Map(rows.map(({ currency, count }) => [currency, Number(count)]))
}
