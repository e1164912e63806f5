import { canonicalAmount } from '../../domain/account/amount.ts'
import { type Correction, correctsOf, nameOf } from '../../domain/account/adjustments.ts'
import { sha256Hex } from '../../kernel/ids.ts'
import type { Currency } from '../../kernel/money.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { type AccessDeps, changeAccount, type Changed } from './bootstrap.ts'

/** Hex digits of an id made from what an adjustment says: 128 bits. */
const DERIVED_ID_LENGTH = 32

export interface AdjustmentInput {
  readonly tenantId: string
  /** The same id again posts nothing; without one the adjustment itself gives it. */
  readonly adjustmentId?: string
  readonly currency: Currency
  /** Signed decimal string: positive gives to the tenant. */
  readonly amount: string
  readonly correction: Correction
  readonly reason: string
}

/**
 * Corrects a settled line or a grant by a signed amount. Said again in the same words, as after a
 * lost answer, it is the same adjustment and posts nothing.
 *
 * @throws DomainError of the account decider
 */
export async function postAdjustment(
  deps: AccessDeps,
  input: AdjustmentInput,
): Promise<Changed & { readonly adjustmentId: string }> {
  const adjustmentId = input.adjustmentId ?? derivedId(input)
  const at = toTimestamp(deps.clock.nowMs())
  const command = { kind: 'post-adjustment', ...input, adjustmentId, at } as const
  return { adjustmentId, ...(await changeAccount(deps, command)) }
}

function derivedId({ tenantId, currency, amount, correction, reason }: AdjustmentInput): string {
  const said = [tenantId, nameOf(correctsOf(correction)), currency, canonicalAmount(amount), reason]
  return `adjustment_${sha256Hex(JSON.stringify(said)).slice(0, DERIVED_ID_LENGTH)}`
}
