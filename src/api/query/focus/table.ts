import {
  type Cells,
  lineCell,
  purchaseCell,
  refundCell,
} from '../../../../projections/ledger/query.ts'
import type { BillingTerms } from '../../../domain/account/billing.ts'
import { fromTimestamp, wholeSecond } from '../../../kernel/clock.ts'
import type { TimeZone } from '../../../kernel/time-zone.ts'
import type { FocusMonth } from './columns.ts'
import { purchaseCells, refundCells } from './credits.ts'
import { usageCells } from './usage.ts'

/** A FOCUS file names the gateway, and treats each tenant by its terms. */
export interface Billing {
  /** Name of the gateway, which provides the services and bills them. */
  readonly issuer: string
  readonly termsOf: (tenantId: string) => Promise<BillingTerms>
}

export interface FocusTerms extends Billing {
  /** Billing months are those of this zone. */
  readonly zone: TimeZone
}

/** The pages of the ledger that a file is made of. */
interface FocusPages {
  readonly lines: AsyncIterable<readonly Cells[]>
  readonly refunds: AsyncIterable<readonly Cells[]>
  /** None where the file has some of a tenant's lines only. */
  readonly purchases: AsyncIterable<readonly Cells[]>
}

/** Tenants whose terms a file remembers; all of them where there are no more. */
const MAX_KNOWN_TERMS = 10_000

/** Digits of a time up to its second. */
const SECONDS = 19

/** Finds the months of rows; rows in turn are mostly of the same tenant and month. */
function createMonths({ issuer, zone, termsOf }: FocusTerms) {
  const known = new Map<string, BillingTerms>()
  let last: { readonly tenantId: string; readonly month: FocusMonth } | undefined
  const read = async (tenantId: string): Promise<BillingTerms> => {
    const terms = known.get(tenantId) ?? (await termsOf(tenantId))
    if (known.size < MAX_KNOWN_TERMS) known.set(tenantId, terms)
    return terms
  }
  /** The month of the row before, where this one is of it too. */
  const current = (tenantId: string, time: string): FocusMonth | undefined => {
    const second = time.slice(0, SECONDS)
    if (last?.tenantId !== tenantId) return undefined
    const { start, end } = last.month
    const isInside = start.slice(0, SECONDS) <= second && second < end.slice(0, SECONDS)
    return isInside ? last.month : undefined
  }
  const find = async (tenantId: string, time: string): Promise<FocusMonth> => {
    const { fromMs, toMs } = zone.monthAt(fromTimestamp(time))
    const terms = await read(tenantId)
    const [start, end] = [wholeSecond(fromMs), wholeSecond(toMs)]
    const month = { start, end, statement: null, issuer, terms }
    last = { tenantId, month }
    return month
  }
  return { current, find }
}

/** The rows of a FOCUS file: usage, what was given back of it, and the credit that was bought, each newest first. */
export async function* focusRows(
  { lines, refunds, purchases }: FocusPages,
  terms: FocusTerms,
): AsyncGenerator<readonly Cells[]> {
  const months = createMonths(terms)
  async function* written(
    pages: AsyncIterable<readonly Cells[]>,
    [tenantAt, timeAt]: readonly [tenantAt: number, timeAt: number],
    write: (row: Cells, month: FocusMonth) => Cells | undefined,
  ): AsyncGenerator<readonly Cells[]> {
    for await (const page of pages) {
      const rows: Cells[] = []
      for (const row of page) {
        const tenantId = row[tenantAt] ?? ''
        const time = row[timeAt] ?? ''
        const month = months.current(tenantId, time) ?? (await months.find(tenantId, time))
        const cells = write(row, month)
        if (cells !== undefined) rows.push(cells)
      }
      yield rows
    }
  }
  yield* written(lines, [lineCell.tenant_id, lineCell.settled_at], usageCells)
  // No month is closed yet, so every refund is a credit.
  yield* written(refunds, [refundCell.tenant_id, refundCell.posted_at], (refund, month) =>
    refundCells(refund, month, null),
  )
  yield* written(purchases, [purchaseCell.tenant_id, purchaseCell.posted_at], purchaseCells)
}
