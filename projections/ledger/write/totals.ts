import type { PoolClient } from 'pg'
import { formatAmount } from '../../../src/kernel/money.ts'
import { plainColumn, textColumn } from '../../engine/columns.ts'
import type { BalanceDelta, PeriodDelta, TotalDelta } from '../fold/change.ts'

/** Adds to the balances; a limit that was set replaces the old one. */
export async function writeBalances(
  client: PoolClient,
  deltas: readonly BalanceDelta[],
): Promise<void> {
  if (deltas.length === 0) return
  const amounts = (of: (delta: BalanceDelta) => bigint): string =>
    textColumn(deltas.map((delta) => formatAmount(of(delta))))
  await client.query({
    name: 'ledger.balances',
    text: `insert into balances as b
             (tenant_id, currency, granted, adjusted, settled, held, credit_limit, position)
           select d.tenant_id, d.currency, d.granted, d.adjusted, d.settled, d.held,
                  coalesce(d.credit_limit, o.credit_limit, 0), d.position
           from unnest($1::text[], $2::text[], $3::numeric[], $4::numeric[], $5::numeric[],
                       $6::numeric[], $7::numeric[], $8::bigint[])
             as d (tenant_id, currency, granted, adjusted, settled, held, credit_limit, position)
           left join balances o on o.tenant_id = d.tenant_id and o.currency = d.currency
           on conflict (tenant_id, currency) do update
           set granted = b.granted + excluded.granted, adjusted = b.adjusted + excluded.adjusted,
               settled = b.settled + excluded.settled, held = b.held + excluded.held,
               credit_limit = excluded.credit_limit, position = excluded.position`,
    values: [
      textColumn(deltas.map(({ tenantId }) => tenantId)),
      textColumn(deltas.map(({ currency }) => currency)),
      amounts(({ granted }) => granted),
      amounts(({ adjusted }) => adjusted),
      amounts(({ settled }) => settled),
      amounts(({ held }) => held),
      textColumn(deltas.map(({ limit }) => (limit === undefined ? null : formatAmount(limit)))),
      plainColumn(deltas.map(({ position }) => position)),
    ],
  })
}

const periodColumns = { days: 'day', hours: 'hour', quarters: 'quarter' } as const

/** Adds to the totals of days, of hours, or of quarters of an hour. */
export async function writePeriods(
  client: PoolClient,
  table: keyof typeof periodColumns,
  deltas: readonly PeriodDelta[],
): Promise<void> {
  if (deltas.length === 0) return
  const key = `tenant_id, ${periodColumns[table]}, currency, sku, unit, model, user_id, token_id, surface`
  // Hours and quarters are written without their zone, and that is UTC.
  const begins = table === 'days' ? `begins::date` : `(begins || 'Z')::timestamptz`
  await client.query({
    name: `ledger.${table}`,
    text: `insert into ${table} as d (${key}, lines, quantity, amount)
           select tenant_id, ${begins}, currency, sku, unit, model, user_id, token_id, surface,
                  lines, quantity, amount
           from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
                       $7::text[], $8::text[], $9::text[], $10::bigint[], $11::numeric[],
                       $12::numeric[])
             as n (tenant_id, begins, currency, sku, unit, model, user_id, token_id, surface,
                   lines, quantity, amount)
           on conflict (${key}) do update
           set lines = d.lines + excluded.lines, quantity = d.quantity + excluded.quantity,
               amount = d.amount + excluded.amount`,
    values: [
      textColumn(deltas.map(({ tenantId }) => tenantId)),
      textColumn(deltas.map(({ begins: at }) => at)),
      textColumn(deltas.map(({ currency }) => currency)),
      textColumn(deltas.map(({ sku }) => sku)),
      textColumn(deltas.map(({ unit }) => unit)),
      textColumn(deltas.map(({ model }) => model)),
      textColumn(deltas.map(({ userId }) => userId)),
      textColumn(deltas.map(({ tokenId }) => tokenId)),
      textColumn(deltas.map(({ surface }) => surface)),
      plainColumn(deltas.map(({ lines }) => lines)),
      plainColumn(deltas.map(({ quantity }) => quantity)),
      textColumn(deltas.map(({ amountPico }) => formatAmount(amountPico))),
    ],
  })
}

/** Adds to the totals over all tenants. */
export async function writeTotals(
  client: PoolClient,
  deltas: readonly TotalDelta[],
): Promise<void> {
  if (deltas.length === 0) return
  await client.query({
    name: 'ledger.totals',
    text: `insert into totals as o (kind, currency, part, n, amount)
           select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::numeric[])
           on conflict (kind, currency, part) do update
           set n = o.n + excluded.n, amount = o.amount + excluded.amount`,
    values: [
      textColumn(deltas.map(({ kind }) => kind)),
      textColumn(deltas.map(({ currency }) => currency)),
      textColumn(deltas.map(({ part }) => part)),
      plainColumn(deltas.map(({ n }) => n)),
      textColumn(deltas.map(({ amountPico }) => formatAmount(amountPico))),
    ],
  })
}
