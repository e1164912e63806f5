import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../../../app/access/principal.ts'
import type { LimitStatuses } from '../../../app/spending/throttle/rates.ts'
import { type Cost, costOf, type Settlement } from '../../../domain/pricing/settlement.ts'
import { callerOf } from '../tokens/authenticate.ts'
import type { Started, StreamDialect } from './event-stream.ts'

/**
 * The file name for browsers: the name itself, and one in ASCII for clients that cannot read it.
 */
export function dispositionOf(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const whole = encodeURIComponent(filename).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${whole}`
}

/** Keeps every answer of these routes out of caches: some hold secrets and balances. */
export function useNoStore(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    void reply.header('cache-control', 'no-store')
    done()
  })
}

/** The cost of an answer: in its headers, or within a stream, whose headers were sent before. */

/** The request header that asks for the cost in a stream. */
const COST_IN_STREAM = 'x-cost-in-stream'

/**
 * Headers with the settlement of an answer. SKUs and versions are letters, digits, `.`, `_`, `+`
 * and `-`.
 */
export function costHeaders(cost: Cost | undefined): Readonly<Record<string, string>> {
  if (cost === undefined) return {}
  return {
    'x-cost': cost.amount,
    'x-cost-currency': cost.currency,
    'x-price-book': cost.priceBookVersion,
    'x-cost-split': cost.split.map(({ sku, amount }) => `${sku}=${amount}`).join(', '),
  }
}

/** Sets the headers of a call with a whole answer. */
export function setCallHeaders(
  reply: FastifyReply,
  { callId, settlement }: { readonly callId: string; readonly settlement: Settlement },
): void {
  void reply.headers({
    'x-call-id': callId,
    ...costHeaders(costOf(settlement)),
    'cache-control': 'no-store',
  })
}

/** The facts of its call that a stream may report if the caller requested them. */
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

/** The facts as a member of JSON. */
export function costMember({ amount, currency, priceBookVersion, split }: Cost) {
  return { amount, currency, price_book: priceBookVersion, split }
}

/** The text of an object with a member `cost` at its end; any other text stays unchanged. */
export function withCost(json: string, cost: Cost | undefined): string {
  const text = json.trimEnd()
  if (cost === undefined || !text.endsWith('}')) return json
  const rest = text.slice(0, -1).trimEnd()
  const comma = rest.endsWith('{') ? '' : ','
  return `${rest}${comma}"cost":${JSON.stringify(costMember(cost))}}`
}

/**
 * A dialect whose last frame holds the cost: once the cost is known, each frame is held back until
 * the next one, to recognise the last. `write` leaves out the parts that are not for the caller.
 */
export function costInLastFrame<Frame>(
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

/** The tightest limits of a caller: of its token, its user and its tenant. Limits of upstream are not shown. */
export type LimitStatusesOf = (principal: Principal) => LimitStatuses

const MINUTE_MS = 60_000

/** A duration in the format that clients of this wire read: `0s`, `12ms`, `1.5s`, `1m0s`. */
export function durationText(milliseconds: number): string {
  if (milliseconds > 0 && milliseconds < 1_000) return `${milliseconds}ms`
  const minutes = Math.floor(milliseconds / MINUTE_MS)
  const seconds = `${(milliseconds % MINUTE_MS) / 1_000}s`
  return minutes === 0 ? seconds : `${minutes}m${seconds}`
}

/** The headers in which a wire shows limits; a caller without limits gets none. */
export type LimitHeaders = (limitStatuses: LimitStatuses) => Readonly<Record<string, string>>

/** The `x-ratelimit-…` headers. */
export const limitHeaders: LimitHeaders = (limitStatuses) =>
  Object.fromEntries(
    Object.entries(limitStatuses).flatMap(([measure, { limit, remaining, resetMs }]) => [
      [`x-ratelimit-limit-${measure}`, String(limit)],
      [`x-ratelimit-remaining-${measure}`, String(remaining)],
      [`x-ratelimit-reset-${measure}`, durationText(resetMs)],
    ]),
  )

/** The headers for the caller that sent a request. */
export function limitHeadersOf(
  request: FastifyRequest,
  limitStatusesOf: LimitStatusesOf,
  headersOf: LimitHeaders,
): Readonly<Record<string, string>> {
  const caller = callerOf(request)
  return caller === undefined ? {} : headersOf(limitStatusesOf(caller))
}

/** Sets them on every answer below the plugin, including failures; streams set them themselves. */
export function useLimitHeaders(
  app: FastifyInstance,
  limitStatusesOf: LimitStatusesOf,
  headersOf: LimitHeaders,
): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    void reply.headers(limitHeadersOf(request, limitStatusesOf, headersOf))
    done(null, payload)
  })
}
