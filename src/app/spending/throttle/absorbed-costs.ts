import type { Clock } from '../../../kernel/clock.ts'
import { createLru } from '../../../kernel/lru.ts'
import { formatAmount } from '../../../kernel/money.ts'
import type { Sharer } from '../../../kernel/sharers.ts'
import type { Reservation } from '../reservation.ts'
import { limitReached, type RateKey, rateKeysOf } from './limits.ts'

/**
 * Units of currency, of any, that failed calls of one user may cost the operator in an hour (P10).
 */
export const ABSORBED_COST_PER_HOUR = 10
const HOUR_MS = 3_600_000
/** Users and tenants remembered; the oldest are evicted first. */
const MAX_KEYS = 20_000
/**
 * Share of the bound that counts as used for a user without failed calls. Its inverse is how many times the bound calls
 * that are begun at once can cost, where all of them fail.
 */
const LEAST_EXPECTED = 0.1

/**
 * Bounds what callers can cost the operator: results that a provider charges for and that no caller
 * pays, delivered or not. A stream that its provider breaks off is free (P5), and so is a picture
 * that the provider made and withholds; a caller may know how to bring that about. The cost is
 * forgotten evenly within an hour; a user or a tenant above the bound is refused until the excess
 * has been paid back. It is kept in memory, by each replica separately.
 */
export interface AbsorbedCosts {
  /** @throws DomainError `rate_limited` while the user or the tenant is above its bound */
  readonly check: (sharer: Sharer) => void
  /**
   * Reserves the hold of a call while it runs. Calls under way are expected to fail in the
   * proportion in which the bound is used, so that many begun at once cost ten times the bound at most, or one call.
   * @throws DomainError `rate_limited`
   */
  readonly reserve: (sharer: Sharer, holdPico: bigint) => Reservation
  /** Adds a cost that no caller pays. */
  readonly add: (sharer: Sharer, amount: string) => void
}

interface Level {
  /** Units that have not been forgotten at a time. */
  units: number
  atMs: number
  /** Holds of the calls under way. */
  running: number
}

export function createAbsorbedCosts(
  clock: Clock,
  perHour: number = ABSORBED_COST_PER_HOUR,
): AbsorbedCosts {
  const levels = createLru<string, Level>(MAX_KEYS)
  const levelOf = ({ key, limit }: RateKey): Level => {
    const nowMs = clock.nowMs()
    const level = levels.get(key) ?? { units: 0, atMs: nowMs, running: 0 }
    level.units = Math.max(0, level.units - ((nowMs - level.atMs) / HOUR_MS) * limit)
    level.atMs = nowMs
    levels.set(key, level)
    return level
  }
  const refuse = ({ whose, limit }: RateKey, above: number): never => {
    const waitMs = Math.ceil((above / limit) * HOUR_MS)
    throw limitReached({ whose, limitedBy: 'absorbed_cost', limit, waitMs })
  }
  const check = (sharer: Sharer): void => {
    for (const key of rateKeysOf(sharer, perHour)) {
      const above = levelOf(key).units - key.limit
      if (above >= 0) refuse(key, above)
    }
  }
  return {
    check,
    reserve: (sharer, holdPico) => {
      check(sharer)
      // The sum is a bound and no bill, so a float will do.
      const hold = Number(formatAmount(holdPico))
      const taken = rateKeysOf(sharer, perHour).map((key) => ({ key, level: levelOf(key) }))
      for (const { key, level } of taken) {
        const { units, running } = level
        const expected = Math.max(units, key.limit * LEAST_EXPECTED)
        const isFull = expected * (1 + (running + hold) / key.limit) >= key.limit
        if (running > 0 && isFull) refuse(key, 0)
      }
      for (const { level } of taken) level.running += hold
      let isOver = false
      const end = (): void => {
        if (isOver) return
        isOver = true
        for (const { level } of taken) level.running = Math.max(0, level.running - hold)
      }
      return { commit: end, release: end }
    },
    add: (sharer, amount) => {
      for (const key of rateKeysOf(sharer, perHour)) levelOf(key).units += Number(amount)
    },
  }
}
