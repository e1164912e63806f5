import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { postedCreditCell, postedLineCell } from '../../../../projections/ledger/query.ts'
import { MAX_SUMS, type PeriodClosed, type SumBySku } from '../../../domain/statement/events.ts'
import { leafHash, MerkleTree, TILE_LEAVES } from '../../../kernel/merkle.ts'
import { formatAmount, parseAmount } from '../../../kernel/money.ts'
import { type Leaf, type LeafPlace, type PeriodBounds, readLeaves } from './leaves.ts'

/** The tree of a period and the sums of its postings, built from the ledger posting by posting. */

/** The tree that is to be built: as JSON between two processes. */
export interface TreeJob {
  readonly tenantId: string
  readonly currency: string
  readonly fromMs: number
  readonly toMs: number
  /** Decimal positions, as of `PostingBounds`. */
  readonly asOf: string
  readonly since: string
  readonly late: number
  /** The leaf of the close. */
  readonly first: string
}

/** 256 leaves of a tree, or fewer at its end. */
export interface Tile {
  /** The first posting of the tile; of the first tile there is none before it, so that it is null. */
  readonly first: LeafPlace | null
  /** Base64. */
  readonly root: string
}

/** The sums of postings as a close has them; amounts are those that the balance sees. */
export type SummedPostings = Pick<
  PeriodClosed,
  'granted' | 'adjusted' | 'expired' | 'settled' | 'lines' | 'postings' | 'late' | 'sums'
>

export interface BuiltTree {
  /** Base64. */
  readonly root: string
  readonly size: number
  readonly tiles: readonly Tile[]
  readonly summed: SummedPostings
  /** Numbers in the ledger of the lines that are dated before the period. */
  readonly lateSeqs: readonly string[]
}

export const boundsOf = ({ asOf, since, ...job }: Omit<TreeJob, 'first'>): PeriodBounds => ({
  ...job,
  asOf: BigInt(asOf),
  since: BigInt(since),
})

/**
 * Builds the tree of a period. Its memory grows with the number of tiles, not with that of leaves; `rest` is awaited
 * between pages of them.
 */
export async function buildTree(
  db: Queryable,
  job: TreeJob,
  rest?: () => Promise<void>,
): Promise<BuiltTree> {
  const tree = new TiledTree(job.first)
  const sums = new Sums(job.fromMs)
  for await (const leaves of readLeaves(db, boundsOf(job))) {
    for (const leaf of leaves) {
      tree.add(leaf)
      sums.add(leaf)
    }
    await rest?.()
  }
  return { ...tree.built(), summed: sums.summed(), lateSeqs: sums.lateSeqs }
}

/** A tree that remembers where its tiles begin. */
class TiledTree {
  readonly #tree = new MerkleTree()
  readonly #firsts: (LeafPlace | null)[] = [null]
  /** Hashes of the last tile, whose root the tree itself does not keep. */
  #last: Buffer[] = []

  constructor(first: string) {
    this.#append(leafHash(first))
  }

  add({ text, at, position, n }: Leaf): void {
    if (this.#tree.size % TILE_LEAVES === 0) {
      this.#firsts.push({ at, position, n })
      this.#last = []
    }
    this.#append(leafHash(text))
  }

  #append(leaf: Buffer): void {
    this.#tree.add(leaf)
    this.#last.push(leaf)
  }

  built(): Pick<BuiltTree, 'root' | 'size' | 'tiles'> {
    const { size, tiles } = this.#tree
    const roots = size % TILE_LEAVES === 0 ? tiles : [...tiles, rootOfTile(this.#last)]
    return {
      root: this.#tree.root().toString('base64'),
      size,
      tiles: roots.map((root, n) => {
        return { first: this.#firsts[n] ?? null, root: root.toString('base64') }
      }),
    }
  }
}

/** The root of the leaves of one tile. */
export function rootOfTile(hashes: readonly Buffer[]): Buffer {
  const tree = new MerkleTree()
  for (const each of hashes) tree.add(each)
  return tree.root()
}

interface SkuTotal {
  unit: string | null
  quantity: bigint
  amountPico: bigint
  lines: number
}

/** The cell `of` of a credit: what was granted, or what was corrected. */
type CreditFigure = 'paid' | 'promotional' | 'line' | 'grant'

/** Sums postings one by one. */
class Sums {
  readonly lateSeqs: string[] = []
  readonly #from: string
  readonly #bySku = new Map<string, SkuTotal>()
  readonly #credits = { paid: 0n, promotional: 0n, line: 0n, grant: 0n } satisfies Record<
    CreditFigure,
    bigint
  >
  #lines = 0
  #postings = 0
  #late = 0

  constructor(fromMs: number) {
    this.#from = new Date(fromMs).toISOString()
  }

  add({ kind, at, row }: Leaf): void {
    this.#postings += 1
    // Both have their milliseconds, and what is earlier is the lesser text.
    const isLate = at.slice(0, 23) < this.#from.slice(0, 23)
    if (isLate) this.#late += 1
    if (kind === 'credit') {
      const of = row[postedCreditCell.of] as CreditFigure
      this.#credits[of] += parseAmount(row[postedCreditCell.amount] ?? '')
      return
    }
    this.#lines += 1
    if (isLate) this.lateSeqs.push(row[postedLineCell.seq] ?? '')
    const sku = row[postedLineCell.sku] ?? ''
    const unit = row[postedLineCell.unit] ?? ''
    let total = this.#bySku.get(sku)
    if (total === undefined) {
      total = { unit, quantity: 0n, amountPico: 0n, lines: 0 }
      this.#bySku.set(sku, total)
    }
    if (total.unit !== unit) total.unit = null
    total.quantity += BigInt(row[postedLineCell.quantity] ?? '')
    total.amountPico += parseAmount(row[postedLineCell.amount] ?? '')
    total.lines += 1
  }

  summed(): SummedPostings {
    const { paid, promotional, line, grant } = this.#credits
    const totals = [...this.#bySku].map(([sku, { unit, quantity, amountPico, lines }]) => {
      return { sku, ...countedIn(unit, quantity), amountPico, lines }
    })
    const settledPico = totals.reduce((sum, { amountPico }) => sum + amountPico, 0n)
    return {
      granted: { paid: formatAmount(paid), promotional: formatAmount(promotional) },
      adjusted: { usage: formatAmount(line), grants: formatAmount(grant) },
      // No event ends credit yet.
      expired: '0',
      settled: formatAmount(-settledPico),
      lines: this.#lines,
      postings: this.#postings,
      late: this.#late,
      sums: boundedSums(totals),
    }
  }
}

/** The usage of one SKU, its amount in pico. */
export type SkuAmount = Omit<SumBySku, 'amount'> & { readonly amountPico: bigint }

/** A quantity with its unit: both are null where units differ, or a number cannot hold the sum. */
export function countedIn(
  unit: string | null,
  quantity: bigint,
): Pick<SumBySku, 'unit' | 'quantity'> {
  if (unit === null || quantity > Number.MAX_SAFE_INTEGER) return { unit: null, quantity: null }
  return { unit, quantity: Number(quantity) }
}

/** The name of the row that has the SKUs of the least amounts, where there are too many. */
const OTHER = 'other'

/** Usage by SKU in the order of their names; of more than a statement takes, the least are one row at the end. */
export function boundedSums(totals: readonly SkuAmount[]): SumBySku[] {
  const byName = (one: SkuAmount, other: SkuAmount): number => (one.sku < other.sku ? -1 : 1)
  const shown = ({ amountPico, ...sum }: SkuAmount): SumBySku => {
    return { ...sum, amount: formatAmount(amountPico) }
  }
  if (totals.length <= MAX_SUMS) return totals.toSorted(byName).map(shown)
  const largest = totals.toSorted((one, other) => {
    if (one.amountPico === other.amountPico) return byName(one, other)
    return one.amountPico > other.amountPico ? -1 : 1
  })
  const rest = largest.slice(MAX_SUMS - 1)
  const other: SkuAmount = {
    sku: OTHER,
    unit: null,
    quantity: null,
    amountPico: rest.reduce((sum, { amountPico }) => sum + amountPico, 0n),
    lines: rest.reduce((sum, { lines }) => sum + lines, 0),
  }
  return [...largest.slice(0, MAX_SUMS - 1).toSorted(byName), other].map(shown)
}
