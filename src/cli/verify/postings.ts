import { digestOfLeaf, SecondTree } from '../../app/audit/second-tree.ts'
import { readPico } from './amounts.ts'
import { type CloseFacts, movementNames } from './close-leaf.ts'
import { leavesOfFile } from './files.ts'
import { NotVerifiedError, requireThat, shownText } from './not-verified.ts'
import { type PostingFacts, readPostingLeaf } from './posting-leaf.ts'
import type { SkuFacts, VerifiedStatement } from './statement.ts'

/** `postings.ndjson`: every leaf of the signed tree, none else, and their sums are the figures of the statement. */

/** The row of all SKUs that have none. */
const OTHER = 'other'

interface SkuTotal {
  pico: bigint
  lines: number
  quantity: bigint
  /** Null: the lines have several. */
  unit: string | null
}

/** @throws NotVerifiedError naming the line; returns the number of postings */
export function verifyPostings(file: string, statement: VerifiedStatement): number {
  const { close, head, leaf, sums } = statement
  const tree = new SecondTree()
  const totals = new Totals(close, sums)
  let line = 1
  try {
    for (const bytes of leavesOfFile(file)) {
      const text = bytes.toString()
      if (line === 1) requireThat(text === leaf, 'this is not the close of the statement')
      else totals.add(readPostingLeaf(text))
      if (line > head.leaves)
        throw new NotVerifiedError(
          `the signed tree has ${head.leaves - 1} postings, and the file has more`,
        )
      tree.append(digestOfLeaf(bytes))
      line += 1
    }
  } catch (error) {
    if (!(error instanceof NotVerifiedError)) throw error
    throw new NotVerifiedError(`line ${line}: ${error.message}`)
  }
  requireThat(
    tree.leaves === head.leaves,
    `the signed tree has ${head.leaves - 1} postings, and the file ${tree.leaves - 1}`,
  )
  requireThat(
    tree.root()?.equals(head.root) === true,
    'the postings are not those of the signed tree: at least one was changed',
  )
  totals.check(statement)
  return tree.leaves - 1
}

/** Sums of postings in the order of the tree. */
class Totals {
  readonly #close: CloseFacts
  readonly #toPosition: bigint
  readonly #figures = new Map(movementNames.map((name) => [name, 0n]))
  readonly #skus: ReadonlyMap<string, SkuTotal>
  #before: PostingFacts | undefined
  #late = 0
  #refunds = 0

  constructor(close: CloseFacts, sums: readonly SkuFacts[]) {
    this.#close = close
    this.#toPosition = BigInt(close.position)
    this.#skus = new Map(
      sums.map(({ sku, unit }) => [sku, { pico: 0n, lines: 0, quantity: 0n, unit }]),
    )
  }

  /** @throws NotVerifiedError where a posting is not of the month, or not in its order */
  add(posting: PostingFacts): void {
    const { tenant, currency, fromUtc, toUtc } = this.#close
    requireThat(
      posting.tenant === tenant && posting.currency === currency,
      'the posting is of another account',
    )
    requireThat(
      posting.at < toUtc && posting.position <= this.#toPosition,
      'the posting is of a later month',
    )
    requireThat(
      this.#before === undefined || isAfter(posting, this.#before),
      'the posting is not in the order of time, position and number, or is there twice',
    )
    this.#before = posting
    if (posting.at < fromUtc) this.#late += 1
    if (posting.figure === 'adjusted_usage') this.#refunds += 1
    this.#figures.set(posting.figure, (this.#figures.get(posting.figure) ?? 0n) + posting.pico)
    if (posting.usage !== undefined) this.#addUsage(posting.pico, posting.usage)
  }

  #addUsage(pico: bigint, { sku, quantity, unit }: NonNullable<PostingFacts['usage']>): void {
    const total = this.#skus.get(sku) ?? this.#skus.get(OTHER)
    if (total === undefined)
      throw new NotVerifiedError(`the statement has no sum of the SKU ${shownText(sku)}`)
    total.pico -= pico
    total.lines += 1
    total.quantity += BigInt(quantity)
    if (total.unit !== unit) total.unit = null
  }

  /** @throws NotVerifiedError naming the figure that is another one */
  check({ close, sums, refundPostings }: VerifiedStatement): void {
    for (const [name, pico] of this.#figures)
      requireThat(
        pico === readPico(close.movements[name]),
        `the postings do not add up to ${name} of the statement`,
      )
    requireThat(
      this.#late === close.late,
      `${this.#late} postings are late, and by the statement ${close.late}`,
    )
    requireThat(
      this.#refunds === refundPostings,
      `${this.#refunds} postings adjust lines, and by the statement ${refundPostings}`,
    )
    for (const sum of sums) {
      const total = this.#skus.get(sum.sku)
      const isRight =
        total?.pico === readPico(sum.amount) &&
        total.lines === sum.lines &&
        total.unit === sum.unit &&
        (sum.quantity === null || total.quantity === BigInt(sum.quantity))
      requireThat(
        isRight,
        `the lines do not add up to the row of ${shownText(sum.sku)} in the statement`,
      )
    }
  }
}

function isAfter(posting: PostingFacts, before: PostingFacts): boolean {
  if (posting.at !== before.at) return posting.at > before.at
  if (posting.position !== before.position) return posting.position > before.position
  return posting.number > before.number
}
