import { derivedId, newId, sha256Hex } from '../../kernel/ids.ts'
import type { Currency } from '../../kernel/money.ts'
import { type AdjustmentTarget, correctsOf, nameOf } from './adjustments.ts'
import { canonicalAmount } from './amount.ts'

/** Ids of postings: a posting moves money once under one id. */

/** The kinds of money movements that a caller may name. */
export type PostingKind = 'grant' | 'limit' | 'adjustment'

/** A request's idempotency key, and the id derived from it. */
interface KeyedPosting {
  readonly id: string
  readonly keyHash: string
}

/** Each tenant and kind of posting has its own id for one key; the key itself is not stored. */
export function keyedPosting(kind: PostingKind, tenantId: string, key: string): KeyedPosting {
  const facts = [kind, tenantId, key]
  return { id: derivedId(kind, facts), keyHash: sha256Hex(JSON.stringify(facts)) }
}

/** The facts that the id of an adjustment is derived from. */
interface AdjustmentFacts {
  readonly tenantId: string
  readonly currency: Currency
  readonly amount: string
  readonly correction: AdjustmentTarget
  readonly reason: string
}

/** The id of an adjustment without one: the same request gives the same id. */
export function adjustmentIdOf(adjustment: AdjustmentFacts): string {
  const { tenantId, currency, amount, correction, reason } = adjustment
  const target = nameOf(correctsOf(correction))
  return derivedId('adjustment', [tenantId, target, currency, canonicalAmount(amount), reason])
}

/** An id for a posting without one. */
export function newPostingId(kind: PostingKind, nowMs: number): string {
  return newId(kind, nowMs)
}
