import { parseAmount, type Currency } from '../../../kernel/money.ts'
import { unreachable } from '../../../kernel/assert.ts'
import type { ReceiptLine } from './types.ts'
import type { ReceiptStatus } from './status.ts'

interface Figures {
  readonly currency: Currency | undefined
  readonly lines: readonly Pick<ReceiptLine, 'measurement'>[]
  /** Decimal strings. */
  readonly adjusted: string
  readonly net: string
  /** Time until which the provider is asked for the usage of a task, RFC 3339. */
  readonly until: string | undefined
}

/** The money status of a task or a call, in a sentence or two. */
export function receiptVerdictOf(status: ReceiptStatus, figures: Figures): string {
  const currency = figures.currency ?? ''
  switch (status.state) {
    case 'settled':
      return settledVerdict(status.settlement.amount, figures)
    case 'not_billed':
      return `Not billed: ${status.why}.`
    case 'running':
      return `Still running: ${status.hold} ${currency} is held until it ends.`
    case 'awaiting_usage': {
      const what = status.isDoubted ? 'a usage that can be believed' : 'its usage'
      return `Made by the provider, which has not reported ${what}: asked until ${figures.until}, ${status.hold} ${currency} is held.`
    }
    case 'unknown':
      return `It is not known yet whether the model service took the task; ${status.hold} ${currency} is held until then.`
    default:
      return unreachable(status)
  }
}

function settledVerdict(
  amount: string,
  { currency: known, lines, adjusted, net }: Figures,
): string {
  const currency = known ?? ''
  const count = lines.length
  if (count === 0) return `Settled once: 0 ${currency}, because nothing was counted.`
  const estimated = lines.filter(({ measurement }) => measurement === 'estimated').length
  const of = `Settled once: ${amount} ${currency} in ${count} ${count === 1 ? 'line' : 'lines'}`
  const how =
    estimated === 0
      ? ', all of it as reported.'
      : estimated === count
        ? ', all of it estimated.'
        : `, ${estimated} of them estimated.`
  const left =
    parseAmount(adjusted) === 0n
      ? ''
      : ` ${adjusted} ${currency} of it was refunded: ${net} ${currency} remains.`
  return `${of}${how}${left}`
}
