import type { FastifyRequest } from 'fastify'
import { type Cost, costOf } from '../../domain/pricing/cost.ts'
import type { Settlement } from '../../domain/pricing/settlement.ts'
import type { Started, StreamDialect } from './event-stream.ts'

/** How callers are told what an answer cost: in headers, or in a stream whose headers have left. */

/** The request header that asks for it in a stream. */
export const COST_IN_STREAM = 'x-cost-in-stream'

/** What an answer says of what it was settled at. SKUs and versions are letters, digits, `.`, `_`, `+` and `-`. */
export function costHeaders(cost: Cost | undefined): Readonly<Record<string, string>> {
  if (cost === undefined) return {}
  return {
    'x-cost': cost.amount,
    'x-cost-currency': cost.currency,
    'x-price-book': cost.priceBookVersion,
    'x-cost-split': cost.split.map(({ sku, amount }) => `${sku}=${amount}`).join(', '),
  }
}

/** What a stream may tell of its call, where its caller asked for it. */
export function costInStream(
  { headers }: Pick<FastifyRequest, 'headers'>,
  settlement: () => Settlement | undefined,
): Started<unknown>['cost'] {
  if (headers[COST_IN_STREAM] !== 'true') return undefined
  return () => {
    const settled = settlement()
    return settled && costOf(settled)
  }
}

/** The same as a member of JSON. */
export function costMember({ amount, currency, priceBookVersion, split }: Cost) {
  return { amount, currency, price_book: priceBookVersion, split }
}

/** The text of an object with a member `cost` at its end; what is no object stays as it is. */
export function withCost(json: string, cost: Cost | undefined): string {
  const text = json.trimEnd()
  if (cost === undefined || !text.endsWith('}')) return json
  const rest = text.slice(0, -1).trimEnd()
  const comma = rest.endsWith('{') ? '' : ','
  return `${rest}${comma}"cost":${JSON.stringify(costMember(cost))}}`
}

/**
 * A dialect whose last frame tells the cost: what comes once it is known is held back by one, so that
 * the last is known too. `write` leaves out what is not for the caller.
 */
export function tellingAtTheEnd<Frame>(
  write: (frame: Frame, cost?: Cost) => string | undefined,
): Pick<StreamDialect<Frame>, 'frame' | 'last'> {
  let held: { readonly frame: Frame; readonly text: string } | undefined
  return {
    frame: (frame, cost) => {
      const text = write(frame)
      if (cost === undefined || text === undefined) return text
      const before = held
      held = { frame, text }
      return before?.text
    },
    last: (cost) => (held === undefined ? '' : (write(held.frame, cost) ?? held.text)),
  }
}
