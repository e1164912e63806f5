import type { Currency } from '../../../src/kernel/money.ts'
import type { Queryable } from '../../engine/queryable.ts'

/** The settlement of a result. */
export interface SettledSource {
  readonly currency: Currency
  /** Decimal string. */
  readonly amount: string
  readonly priceBookVersion: string
  readonly lines: readonly { readonly sku: string; readonly amount: string }[]
}

interface SettledRecord {
  readonly currency: Currency
  readonly amount: string
  readonly sku: string
  readonly line_amount: string
  readonly price_book_version: string
}

/**
 * The settlement of a task or call; undefined while the ledger does not have it, and if it has no
 * lines, because only lines name the price book.
 */
export async function settledSource(
  db: Queryable,
  sourceId: string,
): Promise<SettledSource | undefined> {
  const { rows } = await db.query<SettledRecord>({
    name: 'ledger.settled-source',
    text: `select s.currency, trim_scale(s.amount)::text as amount, l.sku,
                  trim_scale(l.amount)::text as line_amount, l.price_book_version
           from ledger.settlements s join ledger.lines l using (source_id)
           where s.source_id = $1 order by l.seq`,
    values: [sourceId],
  })
  const [first] = rows
  if (first === undefined) return undefined
  return {
    currency: first.currency,
    amount: first.amount,
    priceBookVersion: first.price_book_version,
    lines: rows.map(({ sku, line_amount: amount }) => ({ sku, amount })),
  }
}

/** The settled amount of a source: exact decimal. */
export interface SettledAmount {
  readonly currency: string
  readonly amount: string
}

/**
 * The settled amounts of these sources, by id; without entries for sources that are not settled.
 */
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

/** Amounts given back of the lines of these sources, exact decimals by id; without entries where nothing was. */
export async function refundsOfSources(
  db: Queryable,
  sourceIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.query<{ source_id: string; amount: string }>({
    name: 'ledger.refunds-of-sources',
    text: `select l.source_id, trim_scale(sum(a.amount))::text as amount
           from unnest($1::text[]) s (id) join ledger.lines l on l.source_id = s.id
           cross join lateral (select amount from ledger.adjustments where line_id = l.line_id offset 0) a
           group by l.source_id`,
    values: [sourceIds],
  })
  return new Map(rows.map(({ source_id: id, amount }) => [id, amount]))
}

/** Whether anything was ever settled under a model or a SKU, of one tenant or of any. */
export async function hasLines(
  db: Queryable,
  column: 'model' | 'sku',
  name: string,
  tenantId: string | undefined,
): Promise<boolean> {
  // Filtered by tenant, with which the indexes of lines begin.
  const { rows } = await db.query<{ found: boolean }>({
    name: `ledger.has.${column}`,
    text: `select exists (
             select from (select distinct tenant_id from ledger.balances) t
             where ($2::text is null or t.tenant_id = $2)
               and exists (select from ledger.lines l
                           where l.tenant_id = t.tenant_id and l.${column} = $1)) as found`,
    values: [name, tenantId ?? null],
  })
  return rows[0]?.found === true
}
