import { hash } from 'node:crypto'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import {
  canonicalCells,
  type Cells,
  inMilliseconds,
  postedCreditCell,
  postedCredits,
  postedLineCell,
  postedLines,
  type PostingBounds,
  type PostingPlace,
} from '../../../../projections/ledger/query.ts'
import type { BillingProfile } from '../../../domain/account/billing.ts'
import type { PeriodClosed } from '../../../domain/statement/events.ts'

/**
 * The leaves of a period: one text for the close, then one for each posting in the order time, position,
 * number. Each is an array of texts, null and safe integers, whose JSON has one form (RFC 8785).
 */

/** The members of a close that its leaf has. */
export type CloseFacts = Omit<
  PeriodClosed,
  'root' | 'checkpoint' | 'profile' | 'issuer' | 'despite' | 'by' | 'closedAt' | 'lines'
>

/** The rows that a close has a hash of, as the proof of its statement shows them. */
export function sumRows({
  sums,
  refunds,
  accruals: { held, unstated },
}: Pick<PeriodClosed, 'sums' | 'refunds' | 'accruals'>) {
  return [
    sums.map(({ sku, unit, quantity, amount, lines }) => [sku, unit, quantity, amount, lines]),
    refunds.map(({ statement, amount, postings }) => [statement, amount, postings]),
    [held, unstated],
  ] as const
}

type Party = Pick<BillingProfile, 'legalName' | 'address' | 'country' | 'taxId'>

/** Issuer and customer, as the proof of a statement shows them. */
export function partyRows(issuer: Party, customer: Party & Pick<BillingProfile, 'poNumber'>) {
  const rowOf = ({ legalName, address, country, taxId }: Party) => {
    return [legalName, address, country, taxId ?? null] as const
  }
  return [rowOf(issuer), [...rowOf(customer), customer.poNumber ?? null]] as const
}

/** The leaf of the close itself. */
export function closeLeaf(period: CloseFacts, parties: ReturnType<typeof partyRows>): string {
  const { granted, adjusted, previous } = period
  return JSON.stringify([
    'close',
    1,
    period.tenantId,
    period.currency,
    period.statement,
    period.n,
    period.attempt,
    period.month,
    period.timeZone,
    period.from,
    period.to,
    period.position,
    period.opening,
    granted.paid,
    granted.promotional,
    adjusted.usage,
    adjusted.grants,
    period.expired,
    period.settled,
    period.closing,
    period.postings,
    period.late,
    previous?.root ?? null,
    sha256(JSON.stringify(sumRows(period))),
    sha256(JSON.stringify(parties)),
  ])
}

const sha256 = (text: string): string => hash('sha256', text, 'base64')

/** Where a leaf stands among the others of its period. */
export interface LeafPlace extends PostingPlace {
  /** Number of a line within its position; 0 for credit. */
  readonly n: number
}

/** A posting with its leaf. */
export interface Leaf extends LeafPlace {
  readonly text: string
  readonly row: Cells
  readonly kind: 'line' | 'credit'
}

/** The postings of a period, and whether any of them is dated before it. */
export interface PeriodBounds extends PostingBounds {
  readonly late: number
}

function lineLeaf(row: Cells): Leaf {
  const id = row[postedLineCell.line_id] ?? ''
  return {
    kind: 'line',
    // The bytes that the chain of the ledger hashes, after a word that names the kind.
    text: `["line",${canonicalCells(row).slice(1)}`,
    at: row[postedLineCell.settled_at] ?? '',
    position: row[postedLineCell.position] ?? '',
    n: Number(id.slice(id.lastIndexOf(':') + 1)),
    row,
  }
}

function creditLeaf(row: Cells): Leaf {
  const of = (name: keyof typeof postedCreditCell): string | null =>
    row[postedCreditCell[name]] ?? null
  const at = of('posted_at') ?? ''
  const named = [of('kind'), of('id'), inMilliseconds(at)]
  const moved = [of('tenant_id'), of('currency'), of('amount')]
  const why = [of('of'), of('about'), of('code'), of('reason'), of('position')]
  const text = JSON.stringify([...named, ...moved, ...why])
  return { kind: 'credit', text, at, position: of('position') ?? '', n: 0, row }
}

/** Whether one place is before another in the order of leaves. */
export function isEarlier(one: LeafPlace, other: LeafPlace): boolean {
  if (one.at !== other.at) return one.at < other.at
  const [a, b] = [BigInt(one.position), BigInt(other.position)]
  return a === b ? one.n < other.n : a < b
}

/** Credits one by one, read in pages. */
class CreditCursor {
  /** The next one; undefined at the end. */
  current: Leaf | undefined
  readonly #pages: AsyncIterator<readonly Cells[]>
  #page: readonly Cells[] = []
  #index = -1

  constructor(pages: AsyncIterable<readonly Cells[]>) {
    this.#pages = pages[Symbol.asyncIterator]()
  }

  async advance(): Promise<void> {
    this.#index += 1
    if (this.#index >= this.#page.length) {
      const next = await this.#pages.next()
      this.#page = next.done === true ? [] : next.value
      this.#index = 0
    }
    const row = this.#page[this.#index]
    this.current = row && creditLeaf(row)
  }

  /** Ends the reading. */
  async end(): Promise<void> {
    await this.#pages.return?.()
  }
}

/** Leaves of a period but that of the close, in order and in pages, from the first or from a place on. */
export async function* readLeaves(
  db: Queryable,
  bounds: PeriodBounds,
  page: { readonly from?: LeafPlace | undefined; readonly pageRows?: number | undefined } = {},
): AsyncGenerator<readonly Leaf[]> {
  const { from } = page
  // Lines of one position are read together, also those before the place.
  const wanted = (leaves: readonly Leaf[]): readonly Leaf[] =>
    from === undefined ? leaves : leaves.filter((leaf) => !isEarlier(leaf, from))
  const credits = new CreditCursor(postedCredits(db, bounds, page))
  try {
    await credits.advance()
    for await (const rows of postedLines(db, bounds, { ...page, withEarlier: bounds.late > 0 })) {
      const leaves: Leaf[] = []
      for (const leaf of rows.map(lineLeaf)) {
        for (; credits.current && isEarlier(credits.current, leaf); await credits.advance())
          leaves.push(credits.current)
        leaves.push(leaf)
      }
      yield wanted(leaves)
    }
    const left: Leaf[] = []
    for (; credits.current; await credits.advance()) left.push(credits.current)
    yield wanted(left)
  } finally {
    await credits.end()
  }
}
