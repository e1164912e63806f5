import { randomlyScaled } from '../../../kernel/random.ts'
import type { AssetWorkKind } from '../../../../projections/assets/query.ts'
import { unreachable } from '../../../kernel/assert.ts'

/** Times of the next work on an object of the library: pure, in milliseconds. */

/** The pause between polls of a new object. */
const SHORTEST_LOOK_MS = 1_000
/** The pause between polls of an old object; in between, a tenth of its age. */
const LONGEST_LOOK_MS = 30_000
const SHARE_OF_AGE = 10
/** Objects that may not exist upstream, and failing deletions: at first, doubled every time. */
const FIRST_RETRY_MS = 2_000
const LONGEST_RETRY_MS = 300_000
/** Spreads objects that were created together. */
const JITTER = 0.1

/** A creation takes at most this long; the search for it starts after a share of that. */
export const FIND_AFTER_MS = 15_000

/** Work is never due further ahead, except for a lease. */
export function farthestWorkMs(scale: number): number {
  return LONGEST_RETRY_MS * scale * (1 + JITTER)
}

/** `scale` multiplies every interval. */
export function nextWorkMs(
  {
    kind,
    createdAtMs,
    attempts,
  }: { readonly kind: AssetWorkKind; readonly createdAtMs: number; readonly attempts: number },
  nowMs: number,
  scale: number,
): number {
  return (
    nowMs +
    randomlyScaled(waitMs(kind, nowMs - createdAtMs, attempts) * scale, 1 - JITTER, 1 + JITTER)
  )
}

function waitMs(kind: AssetWorkKind, ageMs: number, attempts: number): number {
  switch (kind) {
    case 'look':
      return Math.min(LONGEST_LOOK_MS, Math.max(SHORTEST_LOOK_MS, ageMs / SHARE_OF_AGE))
    case 'find-asset':
    case 'find-group':
    case 'delete-asset':
    case 'delete-group':
      return Math.min(
        LONGEST_RETRY_MS,
        FIRST_RETRY_MS * 2 ** Math.min(Math.max(0, attempts - 1), 16),
      )
    default:
      return unreachable(kind)
  }
}
