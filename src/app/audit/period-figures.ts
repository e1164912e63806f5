import { canonicalTime } from '../../../projections/engine/audited-rows.ts'
import { MAX_SUMS, type PeriodClosed } from '../../domain/statement/events.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import type { Difference } from './findings.ts'
import type { MovedFigure, PeriodPosting } from './period-postings.ts'

/** The figures of a closed month, added up from its postings a second time. */

interface SkuSum {
  /** Null: lines differ in it. */
  unit: string | null
  quantity: bigint
  amountPico: bigint
  lines: number
}

/** The row of the SKUs that a statement has no row for. */
const REST = 'other'

/** Figures posting by posting; memory grows with the SKUs. */
export class PeriodSums {
  readonly #from: string
  readonly #moved: Record<MovedFigure, bigint> = {
    paid: 0n,
    promotional: 0n,
    usage: 0n,
    grants: 0n,
    settled: 0n,
  }
  readonly #skus = new Map<string, SkuSum>()
  #lines = 0
  #postings = 0
  #late = 0
  #refunds = 0

  /** @param from RFC 3339: what is dated before is late */
  constructor(from: string) {
    this.#from = canonicalTime(from)
  }

  add({ at, moves, row }: PeriodPosting): void {
    const amountPico = parseAmount(String(row['amount']))
    this.#postings += 1
    if (at < this.#from) this.#late += 1
    if (moves === 'usage') this.#refunds += 1
    this.#moved[moves] += moves === 'settled' ? -amountPico : amountPico
    if (moves !== 'settled') return
    this.#lines += 1
    const [sku, unit] = [String(row['sku']), String(row['unit'])]
    const sum = this.#skus.get(sku) ?? { unit, quantity: 0n, amountPico: 0n, lines: 0 }
    if (sum.unit !== unit) sum.unit = null
    sum.quantity += BigInt(String(row['quantity']))
    sum.amountPico += amountPico
    sum.lines += 1
    this.#skus.set(sku, sum)
  }

  /** Where a close says something else than the postings; `opening` is the balance before, in pico. */
  differences(data: PeriodClosed, opening: bigint): readonly Difference[] {
    const { paid, promotional, usage, grants, settled } = this.#moved
    const closing = opening + paid + promotional + usage + grants + settled
    const refunds = data.refunds.reduce((sum, { postings }) => sum + postings, 0)
    const refundedPico = data.refunds.reduce((sum, { amount }) => sum + parseAmount(amount), 0n)
    const pairs: readonly (readonly [string, string | number, string | number])[] = [
      ['opening', data.opening, formatAmount(opening)],
      ['granted.paid', data.granted.paid, formatAmount(paid)],
      ['granted.promotional', data.granted.promotional, formatAmount(promotional)],
      ['adjusted.usage', data.adjusted.usage, formatAmount(usage)],
      ['adjusted.grants', data.adjusted.grants, formatAmount(grants)],
      // No event ends credit yet.
      ['expired', data.expired, '0'],
      ['settled', data.settled, formatAmount(settled)],
      ['closing', data.closing, formatAmount(closing)],
      ['lines', data.lines, this.#lines],
      ['postings', data.postings, this.#postings],
      ['late', data.late, this.#late],
      ['amount of all refunds', formatAmount(refundedPico), formatAmount(usage)],
      ['postings of all refunds', refunds, this.#refunds],
      ...this.#sumPairs(data.sums),
    ]
    return pairs.flatMap(([field, log, stands]) =>
      log === stands ? [] : [{ field, log: String(log), stands: String(stands) }],
    )
  }

  /** The rows of usage by SKU, as the close has them and as the lines give them. */
  #sumPairs(sums: PeriodClosed['sums']): readonly (readonly [string, string, string])[] {
    const left = new Map(this.#skus)
    const isBounded = this.#skus.size > MAX_SUMS
    const pairs = sums.flatMap((row): (readonly [string, string, string])[] => {
      const sum = left.get(row.sku)
      if (sum === undefined && isBounded && row.sku === REST) return []
      left.delete(row.sku)
      return [[`sum of ${row.sku}`, shownRow(row), sum ? shownSum(sum) : 'no line']]
    })
    if (!isBounded)
      return [
        ...pairs,
        ...[...left].map(([sku, sum]) => [`sum of ${sku}`, 'none', shownSum(sum)] as const),
      ]
    const rest = { unit: null, quantity: 0n, amountPico: 0n, lines: 0 }
    for (const { amountPico, lines } of left.values()) {
      rest.amountPico += amountPico
      rest.lines += lines
    }
    const last = sums.at(-1)
    const shown = last?.sku === REST ? shownRow(last) : 'none'
    return [...pairs, ['sum of all other SKUs', shown, shownSum(rest)]]
  }
}

function shownRow({ unit, quantity, amount, lines }: Omit<PeriodClosed['sums'][number], 'sku'>) {
  return `${quantity ?? 'no quantity'} ${unit ?? 'of several units'}, ${amount}, ${lines} lines`
}

function shownSum({ unit, quantity, amountPico, lines }: SkuSum): string {
  const isCounted = unit !== null && quantity <= BigInt(Number.MAX_SAFE_INTEGER)
  const counted = isCounted ? { unit, quantity: Number(quantity) } : { unit: null, quantity: null }
  return shownRow({ ...counted, amount: formatAmount(amountPico), lines })
}
