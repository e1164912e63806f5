import type { Queryable } from '../../../../projections/engine/queryable.ts'
import {
  heldSince,
  refundsByGroup,
  sumCredits,
  usage,
  type UsageGroup,
} from '../../../../projections/ledger/query.ts'
import type { ClosedPeriod } from '../../../domain/statement/periods.ts'
import { MAX_REFUNDED_STATEMENTS, type PeriodClosed } from '../../../domain/statement/events.ts'
import { fromTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { type Currency, formatAmount, parseAmount } from '../../../kernel/money.ts'
import { readWaitingSpools } from '../../spending/lost-spools.ts'
import { pastBalancesOf } from '../past-balances.ts'
import type { PeriodBounds } from './leaves.ts'
import { boundedSums, countedIn, type SkuAmount, type SummedPostings } from './tree.ts'

/** The figures of a period, of the sums that every report has, less those of earlier closes. */

export type Figures = SummedPostings & Pick<PeriodClosed, 'closing' | 'refunds' | 'accruals'>

/** The period whose figures are asked for. */
interface FiguresOf {
  readonly tenantId: string
  readonly currency: Currency
  readonly fromMs: number
  readonly toMs: number
  readonly asOf: bigint
  /** Closes of the currency that stand, in order. */
  readonly standing: readonly ClosedPeriod[]
}

/** The first position that is not in the period before: without one, all are of this period. */
const BEFORE_ALL = -1n

/** Position behind which a posting that is dated earlier belongs to the period after these. */
export function sinceOf(standing: readonly Pick<PeriodClosed, 'position'>[]): bigint {
  const last = standing.at(-1)
  return last === undefined ? BEFORE_ALL : BigInt(last.position)
}

/**
 * Reads the figures of a period and the bounds of its postings.
 * @throws DomainError `period_sum` where totals of different cuts differ
 */
export async function figuresOf(
  db: Queryable,
  { standing, ...period }: FiguresOf,
): Promise<{ readonly figures: Figures; readonly bounds: PeriodBounds }> {
  const { tenantId, currency, fromMs, toMs, asOf } = period
  const since = sinceOf(standing)
  const account = { tenantId, currency, asOf }
  const earlier = { ...account, toMs: fromMs, since }
  const lateLines = await lateLinesOf(db, period, standing)
  const groups = await usage(db, { filter: { ...account, fromMs, toMs }, groupBy: ['sku'] })
  // Lines of the past are looked for only where the totals have more of them than earlier closes.
  const lateGroups = lateLines === 0 ? [] : await usage(db, { filter: earlier, groupBy: ['sku'] })
  const [lateCredits] = await sumCredits(db, earlier)
  const totals = merged([...groups, ...lateGroups])
  const balance = await movedBy(db, period, standing)
  const settledPico = totals.reduce((sum, { amountPico }) => sum + amountPico, 0n)
  if (settledPico !== -balance.settledPico)
    throw new DomainError(
      'period_sum',
      'Usage by SKU is not what was settled: run `tollgate audit`',
      {},
    )
  const spools = await readWaitingSpools(db, [tenantId])
  const lines = totals.reduce((sum, total) => sum + total.lines, 0)
  const late = lateLines + (lateCredits?.postings ?? 0)
  const bounds = { tenantId, currency, fromMs, toMs, asOf, since, late: lateLines }
  const figures = {
    ...balance.figures,
    lines,
    postings: lines + balance.credits,
    late,
    sums: boundedSums(totals),
    refunds: await refundsOf(db, bounds, standing),
    accruals: {
      held: await heldSince(db, account, toMs),
      unstated: spools.find((of) => of.currency === currency)?.amount ?? '0',
    },
  }
  return { figures, bounds }
}

/** How many lines are dated before the period and in no earlier one: those of all time less those closed. */
async function lateLinesOf(
  db: Queryable,
  { tenantId, currency, fromMs, asOf }: Omit<FiguresOf, 'standing'>,
  standing: FiguresOf['standing'],
): Promise<number> {
  const before = { tenantId, currency, toMs: fromMs, asOf }
  const [group] = await usage(db, { filter: before, groupBy: [] })
  return standing.reduce((count, { lines }) => count - lines, group?.lines ?? 0)
}

/** Movements of the period: the balance at its end less the movements of earlier closes. */
async function movedBy(
  db: Queryable,
  { tenantId, currency, toMs, asOf }: Omit<FiguresOf, 'standing'>,
  standing: FiguresOf['standing'],
) {
  const balances = await pastBalancesOf(db, [tenantId], { currency, toMs, asOf })
  const [balance] = balances.get(tenantId) ?? []
  const [credit] = await sumCredits(db, { tenantId, currency, toMs, asOf })
  const { grantedPico = 0n, adjustedPico = 0n, refundedPico = 0n } = balance ?? {}
  const chargedPico = balance?.settledPico ?? 0n
  const promotionalPico = parseAmount(credit?.promotional ?? '0')
  const less = (pico: bigint, amountOf: (period: ClosedPeriod) => string): bigint =>
    standing.reduce((left, period) => left - parseAmount(amountOf(period)), pico)
  const settledPico = less(-chargedPico, ({ settled }) => settled)
  const paidPico = less(grantedPico - promotionalPico, ({ granted }) => granted.paid)
  const grantsPico = less(adjustedPico - refundedPico, ({ adjusted }) => adjusted.grants)
  const figures = {
    granted: {
      paid: formatAmount(paidPico),
      promotional: formatAmount(less(promotionalPico, ({ granted }) => granted.promotional)),
    },
    adjusted: {
      usage: formatAmount(less(refundedPico, ({ adjusted }) => adjusted.usage)),
      grants: formatAmount(grantsPico),
    },
    // No event ends credit yet.
    expired: '0',
    settled: formatAmount(settledPico),
    closing: formatAmount(grantedPico + adjustedPico - chargedPico),
  }
  const closedCredits = standing.reduce((sum, { postings, lines }) => sum + postings - lines, 0)
  return { figures, settledPico, credits: (credit?.postings ?? 0) - closedCredits }
}

/** Adds groups of the same SKU. */
function merged(groups: readonly UsageGroup[]): readonly SkuAmount[] {
  const totals = new Map<string, SkuAmount>()
  for (const { keys, unit = null, quantity = '0', amount, lines } of groups) {
    const sku = keys.sku ?? ''
    const one = {
      sku,
      ...countedIn(unit, BigInt(quantity)),
      lines,
      amountPico: parseAmount(amount),
    }
    const other = totals.get(sku)
    totals.set(sku, other === undefined ? one : added(one, other))
  }
  return [...totals.values()]
}

function added(one: SkuAmount, other: SkuAmount): SkuAmount {
  const quantity = BigInt(one.quantity ?? 0) + BigInt(other.quantity ?? 0)
  return {
    sku: one.sku,
    ...countedIn(one.unit === other.unit ? one.unit : null, quantity),
    lines: one.lines + other.lines,
    amountPico: one.amountPico + other.amountPico,
  }
}

/** Refunds by the statement of their lines; of more than a close takes, the oldest are with the rest. */
async function refundsOf(
  db: Queryable,
  bounds: PeriodBounds,
  standing: FiguresOf['standing'],
): Promise<PeriodClosed['refunds']> {
  const periods = standing.map(({ to, position }) => {
    return { toMs: fromTimestamp(to), asOf: BigInt(position) }
  })
  const groups = await refundsByGroup(db, bounds, periods)
  const named = groups.filter(({ group }) => group !== null)
  const isAll = groups.length <= MAX_REFUNDED_STATEMENTS
  const shown = isAll ? named : named.slice(-(MAX_REFUNDED_STATEMENTS - 1))
  const rest = groups.filter((group) => !shown.includes(group))
  const restPico = rest.reduce((sum, { amount }) => sum + parseAmount(amount), 0n)
  return [
    ...shown.map(({ group, amount, postings }) => {
      return { statement: standing[group ?? 0]?.statement ?? null, amount, postings }
    }),
    ...(rest.length === 0
      ? []
      : [
          {
            statement: null,
            amount: formatAmount(restPico),
            postings: rest.reduce((sum, { postings }) => sum + postings, 0),
          },
        ]),
  ]
}
