import type { UsageGroup } from '../../../projections/ledger/query.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { mapped } from '../../kernel/turns.ts'
import type { Compared } from './usage-before.ts'

/** The sums of all groups of one currency. */
interface Total {
  requests: number
  lines: number
  amountPico: bigint
  refundedPico: bigint
  beforePico: bigint | undefined
}

const empty = { requests: 0, lines: 0, amountPico: 0n, refundedPico: 0n, beforePico: undefined }

/** Totals of groups of usage by currency, compared with the time before where the groups are. */
export function* totalsOf(found: readonly (UsageGroup & Partial<Compared>)[], isOfParts: boolean) {
  const totals = new Map<string, Total>()
  yield* mapped(found, ({ currency, requests, lines, amount, refunded, net_before: before }) => {
    const of = totals.get(currency) ?? { ...empty }
    of.requests += requests
    of.lines += lines
    of.amountPico += parseAmount(amount)
    of.refundedPico += parseAmount(refunded)
    if (before !== undefined) of.beforePico = (of.beforePico ?? 0n) + parseAmount(before)
    totals.set(currency, of)
  })
  const byCurrency = [...totals].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return byCurrency.map(
    ([currency, { requests, lines, amountPico, refundedPico, beforePico: before }]) => ({
      currency,
      requests: isOfParts ? null : requests,
      lines,
      amount: formatAmount(amountPico),
      refunded: formatAmount(refundedPico),
      net: formatAmount(amountPico - refundedPico),
      ...(before !== undefined && {
        net_before: formatAmount(before),
        change: formatAmount(amountPico - refundedPico - before),
      }),
    }),
  )
}
