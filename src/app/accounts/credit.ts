import { type Correction, correctsOf, nameOf } from '../../domain/account/adjustments.ts'
import { canonicalAmount } from '../../domain/account/amount.ts'
import type { AccountCommand } from '../../domain/account/decider.ts'
import type { CreditKind, Person, ReasonCode } from '../../domain/account/postings.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { newId, sha256Hex } from '../../kernel/ids.ts'
import type { Currency } from '../../kernel/money.ts'
import { type AccountCommandDeps, changeAccount, type Changed } from './account-commands.ts'

/** Commands that move a tenant's money: each has an id, and moves money once under one id. */

/** Hex digits of an id derived from a request: 128 bits. */
const DERIVED_ID_LENGTH = 32

/** The kinds of money movements that a caller may name. */
export type Posting = 'grant' | 'limit' | 'adjustment'

/** A request's idempotency key, and the id derived from it. */
interface KeyedPosting {
  readonly id: string
  readonly keyHash: string
}

/** Each tenant and kind of posting has its own id for one key; the key itself is not stored. */
export function keyedPosting(posting: Posting, tenantId: string, key: string): KeyedPosting {
  const keyHash = sha256Hex(JSON.stringify([posting, tenantId, key]))
  return { id: `${posting}_${keyHash.slice(0, DERIVED_ID_LENGTH)}`, keyHash }
}

export interface GrantInput {
  readonly tenantId: string
  /** A repeated id grants nothing; without an id every request grants. */
  readonly grantId?: string
  readonly currency: Currency
  /** Positive decimal string. */
  readonly amount: string
  readonly reason: string
  /** Absent: paid. */
  readonly credit?: CreditKind | undefined
  /** The invoice or payment outside that it stands for. */
  readonly reference?: string | undefined
  readonly by?: Person
  readonly keyHash?: string
}

/**
 * Grants credit; a repeated grant id with the same figures changes nothing.
 * @throws DomainError of the account decider; `posting_outcome_unknown`
 */
export async function grantCredit(
  deps: AccountCommandDeps,
  input: GrantInput,
): Promise<Changed & { readonly grantId: string }> {
  const grantId = input.grantId ?? newPostingId('grant', deps)
  const command = { kind: 'grant', ...input, grantId, at: now(deps) } as const
  return { grantId, ...(await post(deps, command, grantId, 'grant_id')) }
}

export interface CreditLimitInput {
  readonly tenantId: string
  /**
   * A repeated id sets nothing, even after a later change; without an id, only a different limit is
   * set.
   */
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
export async function setCreditLimit(
  deps: AccountCommandDeps,
  input: CreditLimitInput,
): Promise<Changed> {
  const command = { kind: 'set-limit', ...input, at: now(deps) } as const
  const { limitId } = input
  return limitId === undefined
    ? changeAccount(deps, command)
    : post(deps, command, limitId, 'limit_id')
}

export interface AdjustmentInput {
  readonly tenantId: string
  /** A repeated id posts nothing. */
  readonly adjustmentId: string
  readonly currency: Currency
  /** Signed decimal string: positive credits the tenant. */
  readonly amount: string
  readonly correction: Correction
  readonly reason: string
  readonly code?: ReasonCode | undefined
  readonly by?: Person
  readonly keyHash?: string
}

/**
 * Corrects a settled line or a grant by a signed amount.
 * @throws DomainError of the account decider; `posting_outcome_unknown`
 */
export function postAdjustment(deps: AccountCommandDeps, input: AdjustmentInput): Promise<Changed> {
  const command = { kind: 'post-adjustment', ...input, at: now(deps) } as const
  return post(deps, command, input.adjustmentId, 'adjustment_id')
}

/** The id of an adjustment without one: the same request gives the same id. */
export function adjustmentIdOf({
  tenantId,
  currency,
  amount,
  correction,
  reason,
}: Omit<AdjustmentInput, 'adjustmentId'>): string {
  const facts = [
    tenantId,
    nameOf(correctsOf(correction)),
    currency,
    canonicalAmount(amount),
    reason,
  ]
  return `adjustment_${sha256Hex(JSON.stringify(facts)).slice(0, DERIVED_ID_LENGTH)}`
}

/** An id for a posting without one. */
export function newPostingId(
  posting: Posting,
  { clock }: Pick<AccountCommandDeps, 'clock'>,
): string {
  return newId(posting, clock.nowMs())
}

/** On an unknown outcome, the error names the id for the retry. */
async function post(
  deps: AccountCommandDeps,
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
      `the event log did not confirm it in time and may have recorded it: send it again as ${id}, and it counts once`,
      { param },
    )
  }
}

function now({ clock }: AccountCommandDeps): string {
  return toTimestamp(clock.nowMs())
}
