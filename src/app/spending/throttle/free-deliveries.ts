import { Counter, type Registry } from 'prom-client'
import type { Clock } from '../../../kernel/clock.ts'
import { createLru } from '../../../kernel/lru.ts'
import type { Currency } from '../../../kernel/money.ts'
import { limitReached } from './limits.ts'

/**
 * Maximum value, in units of a currency, of unpaid parts of answers that a token gets in an hour.
 */
export const FREE_DELIVERIES_PER_HOUR = 10
const HOUR_MS = 3_600_000
/** Tokens remembered; the oldest are evicted first. */
const MAX_TOKENS = 20_000

/**
 * Bounds the unpaid answers of one token. A stream that its provider breaks off costs the caller
 * nothing (P5), and a caller may know how to cause that: with a tool that takes too long, for
 * example. The value delivered by such streams is forgotten evenly within an hour; above the bound
 * the token's calls are refused. It is kept in memory, by each replica separately.
 */
export interface FreeDeliveries {
  /** @throws DomainError `rate_limited` while the token is above its bound */
  readonly check: (tokenId: string) => void
  /** Adds a stream of which something was delivered, and that is not billed. */
  readonly add: (tokenId: string, currency: Currency, amount: string) => void
}

export function createFreeDeliveries(
  clock: Clock,
  perHour: number = FREE_DELIVERIES_PER_HOUR,
  registry?: Registry,
): FreeDeliveries {
  /** Units that have not flowed off at a time. */
  const levels = createLru<string, { readonly units: number; readonly atMs: number }>(MAX_TOKENS)
  const delivered = new Counter({
    name: 'tollgate_calls_delivered_free_amount_total',
    help: 'Probable provider cost of failed calls that delivered a part of their answer. A float.',
    labelNames: ['currency'],
    registers: registry === undefined ? [] : [registry],
  })
  const levelOf = (tokenId: string): number => {
    const known = levels.get(tokenId)
    if (known === undefined) return 0
    return Math.max(0, known.units - ((clock.nowMs() - known.atMs) / HOUR_MS) * perHour)
  }
  return {
    check: (tokenId) => {
      const above = levelOf(tokenId) - perHour
      if (above < 0) return
      const waitMs = Math.ceil((above / perHour) * HOUR_MS)
      throw limitReached({ whose: 'token', limitedBy: 'free_deliveries', limit: perHour, waitMs })
    },
    add: (tokenId, currency, amount) => {
      // It is a bound and no bill, so a float will do.
      const units = Number(amount)
      delivered.inc({ currency }, units)
      levels.set(tokenId, { units: levelOf(tokenId) + units, atMs: clock.nowMs() })
    },
  }
}
