import type { Queryable } from '../../engine/queryable.ts'
import type { TotalKey } from '../fold/change.ts'

/** A total over all tenants; the amount is a decimal string. */
export interface LedgerTotal extends TotalKey {
  readonly n: number
  readonly amount: string
}

const figures = `sum(n)::bigint::text as n, trim_scale(sum(amount))::text as amount`

type TotalRecord = Omit<LedgerTotal, 'n'> & { readonly n: string }

const toTotals = (rows: readonly TotalRecord[]): readonly LedgerTotal[] =>
  rows.map((row) => ({ ...row, n: Number(row.n) }))

/** Sums over all tenants: a few rows, however long the ledger is. */
export async function totals(db: Queryable): Promise<readonly LedgerTotal[]> {
  const { rows } = await db.query<TotalRecord>({
    name: 'ledger.totals.read',
    text: `select kind, currency, part, n::text, trim_scale(amount)::text as amount
           from ledger.totals order by kind, currency, part`,
  })
  return toTotals(rows)
}

/** Sum of each account per currency, over all tenants: debits less credits, from the totals. */
export async function trialBalance(
  db: Queryable,
): Promise<
  readonly { readonly currency: string; readonly account: string; readonly amount: string }[]
> {
  const all = await totals(db)
  return all
    .filter(({ kind }) => kind === 'account')
    .map(({ currency, part: account, amount }) => ({ currency, account, amount }))
}

/** Holds that are placed, as their rows say. For an auditor: it reads all of them. */
export async function placedHolds(db: Queryable): Promise<readonly LedgerTotal[]> {
  const { rows } = await db.query<TotalRecord>(
    `select 'held' as kind, currency, '' as part, ${figures}
     from (select currency, 1 as n, amount from ledger.holds where state = 'placed') h
     group by currency`,
  )
  return toTotals(rows)
}

/** A stretch of rows that never change, summed, and where the next one begins. */
export interface SummedStretch {
  readonly sums: readonly LedgerTotal[]
  /** Undefined at the end. */
  readonly next: bigint | undefined
}

/** Sums of the lines after one place of the chain and up to another. */
export async function sumLines(
  db: Queryable,
  range: { readonly after: bigint; readonly to: bigint; readonly limit: number },
): Promise<SummedStretch> {
  const until = range.after + BigInt(range.limit)
  const { rows } = await db.query<TotalRecord>(
    `select kind, currency, surface as part, ${figures}
     from (select 'settled' as kind, currency, surface, 1 as n, amount from ledger.lines
           where seq > $1 and seq <= $2
           union all
           select 'estimated', currency, surface, 1, amount from ledger.lines
           where seq > $1 and seq <= $2 and measurement = 'estimated') l
     group by 1, 2, 3`,
    [range.after, until < range.to ? until : range.to],
  )
  return { sums: toTotals(rows), next: until < range.to ? until : undefined }
}

/** Sums of the entries after one position and up to another. */
export async function sumEntries(
  db: Queryable,
  range: { readonly after: bigint; readonly to: bigint; readonly limit: number },
): Promise<SummedStretch> {
  const found = await db.query<{ position: string }>(
    `select position from ledger.entries where position > $1 and position <= $2
     order by position offset $3 limit 1`,
    [range.after, range.to, range.limit],
  )
  const [beyond] = found.rows
  const next = beyond === undefined ? undefined : BigInt(beyond.position)
  const { rows } = await db.query<TotalRecord>(
    `select 'account' as kind, currency, account as part, ${figures}
     from (select currency, account, 1 as n, amount from ledger.postings
           where position > $1 and position <= $2) p
     group by currency, account`,
    [range.after, next ?? range.to],
  )
  return { sums: toTotals(rows), next }
}
