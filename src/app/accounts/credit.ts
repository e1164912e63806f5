import { type Correction, correctsOf, nameOf } from '../../domain/account/adjustments.ts'
import { canonicalAmount } from '../../domain/account/amount.ts'
import type { AccountCommand } from '../../domain/account/decider.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { newId, sha256Hex } from '../../kernel/ids.ts'
import type { Currency } from '../../kernel/money.ts'
import { type AccessDeps, changeAccount, type Changed } from './bootstrap.ts'

/** What moves a tenant's money: each has an id, and under the same id it moves once. */

/** Hex digits of an id made from what a request says: 128 bits. */
const DERIVED_ID_LENGTH = 32

/** What names one movement of money, as a caller may name it. */
export type Posting = 'grant' | 'limit'

/** A key that a request came under, and the id that follows from it. */
export interface KeyedPosting {
  readonly id: string
  readonly keyHash: string
}

/** Of one key each tenant and each kind of posting has an id; the key itself is kept nowhere. */
export function keyedPosting(posting: Posting, tenantId: string, key: string): KeyedPosting {
  const keyHash = sha256Hex(JSON.stringify([posting, tenantId, key]))
  return { id: `${posting}_${keyHash.slice(0, DERIVED_ID_LENGTH)}`, keyHash }
}

export interface GrantInput {
  readonly tenantId: string
  /** The same id again gives nothing; without one every request gives. */
  readonly grantId?: string
  readonly currency: Currency
  /** Positive decimal string. */
  readonly amount: string
  readonly reason: string
  readonly keyHash?: string
}

/**
 * Gives credit; a repeated grant id with the same figures changes nothing.
 * @throws DomainError of the account decider; `posting_outcome_unknown`
 */
export async function grantCredit(
  deps: AccessDeps,
  input: GrantInput,
): Promise<Changed & { readonly grantId: string }> {
  const grantId = input.grantId ?? newPostingId('grant', deps)
  const command = { kind: 'grant', ...input, grantId, at: now(deps) } as const
  return { grantId, ...(await post(deps, command, grantId, 'grant_id')) }
}

export interface CreditLimitInput {
  readonly tenantId: string
  /** The same id again sets nothing, whatever was set since; without one only another limit is set. */
  readonly limitId?: string
  readonly currency: Currency
  /** Decimal string, not negative. */
  readonly limit: string
  readonly keyHash?: string
}

/**
 * Sets how far below zero a balance may go.
 * @throws DomainError of the account decider; `posting_outcome_unknown`
 */
export async function setCreditLimit(deps: AccessDeps, input: CreditLimitInput): Promise<Changed> {
  const command = { kind: 'set-limit', ...input, at: now(deps) } as const
  const { limitId } = input
  return limitId === undefined
    ? changeAccount(deps, command)
    : post(deps, command, limitId, 'limit_id')
}

export interface AdjustmentInput {
  readonly tenantId: string
  /** The same id again posts nothing. */
  readonly adjustmentId: string
  readonly currency: Currency
  /** Signed decimal string: positive gives to the tenant. */
  readonly amount: string
  readonly correction: Correction
  readonly reason: string
}

/**
 * Corrects a settled line or a grant by a signed amount.
 * @throws DomainError of the account decider; `posting_outcome_unknown`
 */
export function postAdjustment(deps: AccessDeps, input: AdjustmentInput): Promise<Changed> {
  const command = { kind: 'post-adjustment', ...input, at: now(deps) } as const
  return post(deps, command, input.adjustmentId, 'adjustment_id')
}

/** The id of an adjustment that was given none: said again in the same words it is the same one. */
export function adjustmentIdOf({
  tenantId,
  currency,
  amount,
  correction,
  reason,
}: Omit<AdjustmentInput, 'adjustmentId'>): string {
  const said = [tenantId, nameOf(correctsOf(correction)), currency, canonicalAmount(amount), reason]
  return `adjustment_${sha256Hex(JSON.stringify(said)).slice(0, DERIVED_ID_LENGTH)}`
}

/** An id for a posting that was given none. */
export function newPostingId(posting: Posting, { clock }: Pick<AccessDeps, 'clock'>): string {
  return newId(posting, clock.nowMs())
}

/** Says under which id to send again what may be written or not. */
async function post(
  deps: AccessDeps,
  command: AccountCommand,
  id: string,
  param: string,
): Promise<Changed> {
  try {
    return await changeAccount(deps, command)
  } catch (error) {
    if (!isDomainError(error, 'log_outcome_unknown')) throw error
    throw new DomainError(
      'posting_outcome_unknown',
      `the event log did not confirm it in time, and it may be written: send it again as ${id}, and it counts once`,
      { param },
    )
  }
}

function now({ clock }: AccessDeps): string {
  return toTimestamp(clock.nowMs())
}
