import type { LedgerLine } from '../line.ts'
import type { PeriodDelta } from './change.ts'

/** Start of the quarter of an hour of a time in UTC. */
function quarterOf(time: string): string {
  const minute = Math.floor(Number(time.slice(14, 16)) / 15) * 15
  return `${time.slice(0, 14)}${minute === 0 ? '00' : minute}`
}

/** Start of the hour and of the day of a quarter. */
const longer = {
  hours: (quarter: string): string => `${quarter.slice(0, 14)}00`,
  days: (quarter: string): string => quarter.slice(0, 10),
} as const

/** Key of a period: the period itself, and everything that lines are summed by. */
function keyOf(begins: string, of: Omit<PeriodDelta, 'begins'> | LedgerLine): string {
  const { tenantId, currency, sku, unit, model, userId, tokenId, surface } = of
  return `${tenantId}\n${begins}\n${currency}\n${sku}\n${unit}\n${model}\n${userId}\n${tokenId}\n${surface}`
}

/** Adds a line to the quarter of an hour it was settled in. */
export function addToQuarter(
  quarters: Map<string, PeriodDelta>,
  line: LedgerLine,
  amountPico: bigint,
  requests: 0 | 1,
): void {
  const begins = quarterOf(line.settledAt)
  const key = keyOf(begins, line)
  let delta = quarters.get(key)
  if (delta === undefined) {
    const { tenantId, currency, sku, unit, model, userId, tokenId, surface } = line
    const facts = { tenantId, begins, currency, sku, unit, model, userId, tokenId, surface }
    delta = { ...facts, requests: 0, lines: 0, quantity: 0n, amountPico: 0n }
    quarters.set(key, delta)
  }
  delta.requests += requests
  delta.lines += 1
  delta.quantity += BigInt(line.quantity)
  delta.amountPico += amountPico
}

/** Sums quarters of an hour to the hours or days that hold them. */
export function sumQuarters(
  quarters: Iterable<PeriodDelta>,
  into: keyof typeof longer,
): readonly PeriodDelta[] {
  const sums = new Map<string, PeriodDelta>()
  for (const quarter of quarters) {
    const begins = longer[into](quarter.begins)
    const key = keyOf(begins, quarter)
    const sum = sums.get(key)
    if (sum === undefined) sums.set(key, { ...quarter, begins })
    else {
      sum.requests += quarter.requests
      sum.lines += quarter.lines
      sum.quantity += quarter.quantity
      sum.amountPico += quarter.amountPico
    }
  }
  return [...sums.values()]
}
