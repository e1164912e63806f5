import { createLru } from '../../../kernel/lru.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { Allowance } from './allowance.ts'
import { limitReached } from './limits.ts'

/** Sign-ins of the console a minute of one address, and of one user, in one process (P10). */
export const SIGN_INS_PER_MINUTE = 60
/** Addresses and users remembered; the oldest are evicted first. */
const MAX_KEYS = 20_000

/** Counts a sign-in of an address or of a user. @throws DomainError `rate_limited` */
export type CountSignIn = (whose: 'address' | 'user', id: string) => void

/** Counts sign-ins in memory; replicas do not share the counts. */
export function createSignIns(clock: Clock): CountSignIn {
  const known = createLru<string, Allowance>(MAX_KEYS)
  return (whose, id) => {
    const nowMs = clock.nowMs()
    const key = `${whose}\n${id}`
    const allowance = known.get(key) ?? new Allowance(nowMs)
    known.set(key, allowance)
    const waitMs = allowance.waitMs(1, SIGN_INS_PER_MINUTE, nowMs)
    if (waitMs > 0)
      throw limitReached({ whose, limitedBy: 'sign_ins', limit: SIGN_INS_PER_MINUTE, waitMs })
    allowance.take(1, SIGN_INS_PER_MINUTE, nowMs)
  }
}
