import { isAboveCeiling } from '../pricing/ceiling.ts'
import type { Quote, Settlement } from '../pricing/settlement.ts'
import type { Usage } from '../pricing/usage.ts'
import type { TaskSuccess } from './task-rules.ts'

type Made = Omit<TaskSuccess, 'quote'>

/** Functions that settle a result, and that estimate the expected result of a request. */
interface Rating {
  readonly settle: (quote: Quote, made: Made) => Settlement | undefined
  readonly expected: (model: string, facts: Made['facts']) => Pick<Made, 'usage' | 'output'>
}

/**
 * The settlement of a result that cannot be requested again, and its usage. If the reported usage
 * is more than the request can cost or have, the settlement is the expected cost of the same number of
 * units, and zero without a unit.
 */
export function settleBelieved(
  rating: Rating,
  unit: string,
  { quote, ...made }: TaskSuccess,
  heldUnits: bigint,
): { readonly settlement: Settlement; readonly usage: Usage } | undefined {
  const settlement = rating.settle(quote, made)
  if (settlement === undefined) return undefined
  if (!isAboveCeiling(quote, settlement, heldUnits)) return { settlement, usage: made.usage }
  const expected = expectedOf(rating, unit, made)
  const estimate = rating.settle(quote, { ...made, ...expected })
  if (estimate === undefined || isAboveCeiling(quote, estimate, heldUnits)) return undefined
  const lines = estimate.lines.map((line) => ({ ...line, measurement: 'estimated' as const }))
  return { settlement: { ...estimate, lines }, usage: expected.usage }
}

function expectedOf(
  { expected }: Rating,
  unit: string,
  { model, facts, usage, output }: Made,
): Pick<Made, 'usage' | 'output'> {
  const most = expected(model, facts).usage[unit] ?? 0
  const count = Math.min(usage[unit] ?? 0, most)
  if (count === 0) return { usage: { [unit]: 0 }, output }
  const { settings } = facts
  const layers = 'layers' in settings ? { layers: count } : {}
  const asked = expected(model, { ...facts, settings: { ...settings, n: count, ...layers } })
  return { usage: asked.usage, output: { ...asked.output, ...output } }
}
