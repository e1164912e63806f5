import { timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import { newSecret, sha256Hex } from '../../kernel/ids.ts'

/** Codes that sign in once, for the link that the first start prints; they are in memory only. */

const VALID_FOR_MS = 5 * 60_000
const PREFIX = 'tce-'

export interface EntryCodes {
  /** Makes a code for the secret of a token; it replaces the one before. */
  readonly make: (secret: string) => string
  /** The secret, once and within five minutes; undefined for any other code. */
  readonly use: (code: string) => string | undefined
}

export function createEntryCodes(clock: Clock): EntryCodes {
  let made: { readonly hash: string; readonly secret: string; readonly untilMs: number } | undefined
  return {
    make: (secret) => {
      const code = newSecret(PREFIX)
      made = { hash: sha256Hex(code), secret, untilMs: clock.nowMs() + VALID_FOR_MS }
      return code
    },
    use: (code) => {
      const known = made
      const isIt =
        known !== undefined &&
        timingSafeEqual(Buffer.from(known.hash), Buffer.from(sha256Hex(code)))
      if (!isIt) return undefined
      made = undefined
      return clock.nowMs() < known.untilMs ? known.secret : undefined
    },
  }
}
