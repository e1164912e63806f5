import { OrderedMap } from 'immutable'
import { unreachable } from '../../kernel/assert.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { parseAmount, type Currency } from '../../kernel/money.ts'
import type { Decider } from '../decider.ts'
import {
  checkCorrection,
  type Correction,
  correctsOf,
  nameOf,
  nothingCorrectable,
  withCorrection,
  withGrant,
} from './adjustments.ts'
import { canonicalAmount } from './amount.ts'
import {
  checkPosted,
  fingerprint,
  grant,
  type GrantCredit,
  granted,
  grantNamed,
  isRepeated,
  limitSet,
  noCredit,
  setLimit,
  type SetCreditLimit,
  withPosted,
  withPosting,
  isKeyRepeated,
  withKey,
} from './credit.ts'
import { type Person, postingMembers, type ReasonCode } from './postings.ts'
import { withRecent } from './approvals.ts'
import type { AccountEvent, AccountEventData } from './events.ts'
import {
  approve,
  type ApprovePosting,
  noProposals,
  postOrPropose,
  type PostingState,
  reject,
  type RejectPosting,
  withEnd,
  withProposal,
} from './proposals.ts'
import { evolveSettings, isSettingEvent, setSetting, type SetSetting } from './settings.ts'

/** Users of one tenant: each is read with its account. */
export const MAX_USERS = 10_000

/**
 * One tenant's account: its identity and its credit. Balances are a projection of the ledger
 * instead.
 */
export interface AccountState extends PostingState {
  /** Undefined until the tenant is opened. */
  readonly name: string | undefined
  /** Users by id, in the order in which they were added. */
  readonly users: OrderedMap<string, AccountEventData<'UserAdded'>>
}

/** `at` is RFC 3339, amounts are decimal strings of at most 12 decimals. */
export type AccountCommand =
  | {
      readonly kind: 'open'
      readonly tenantId: string
      readonly name: string
      readonly at: string
    }
  | {
      readonly kind: 'add-user'
      readonly tenantId: string
      readonly userId: string
      readonly name: string
      readonly at: string
    }
  | GrantCredit
  | SetCreditLimit
  | {
      readonly kind: 'post-adjustment'
      readonly tenantId: string
      readonly adjustmentId: string
      readonly currency: Currency
      /** Signed: positive gives to the tenant. */
      readonly amount: string
      readonly correction: Correction
      readonly reason: string
      readonly code?: ReasonCode | undefined
      readonly by?: Person | undefined
      /** As of a grant. */
      readonly proposesOnly?: boolean | undefined
      /** Hex SHA-256 of the `Idempotency-Key` it was sent under; undefined: none. */
      readonly keyHash?: string | undefined
      readonly at: string
    }
  | ApprovePosting
  | RejectPosting
  | SetSetting

/**
 * Repeating a command with the same ids and figures yields no event, so that repeating a set-up is
 * harmless.
 *
 * @throws DomainError `tenant_exists`, `tenant_not_found`, `user_exists`, `too_many_users`,
 *   `posting_id_taken`, `limit_id_taken`, `idempotency_key_reused`, `amount_invalid`,
 *   `adjustment_source_invalid`, `adjustment_out_of_bounds`, `proposal_not_found`, `proposal_ended`,
 *   `proposal_expired`, `proposal_own`, those of `decideSetting`
 */
export const accountDecider: Decider<AccountState, AccountCommand, AccountEvent> = {
  initial: {
    name: undefined,
    users: OrderedMap(),
    ...noCredit,
    ...noProposals,
    correctable: nothingCorrectable,
    settings: {},
  },

  decide(command, state) {
    const { tenantId } = command
    if (command.kind === 'open') {
      if (state.name === command.name) return []
      if (state.name !== undefined)
        throw new DomainError('tenant_exists', 'the tenant already exists', { tenantId })
      return [
        { type: 'TenantOpened', data: { tenantId, name: command.name, openedAt: command.at } },
      ]
    }
    if (state.name === undefined)
      throw new DomainError('tenant_not_found', 'The tenant does not exist', { tenantId })
    switch (command.kind) {
      case 'add-user': {
        const { userId, name, at } = command
        if (state.users.get(userId)?.name === name) return []
        if (state.users.has(userId))
          throw new DomainError('user_exists', 'the tenant already has this user', {
            tenantId,
            userId,
          })
        if (state.users.size >= MAX_USERS)
          throw new DomainError('too_many_users', `a tenant has at most ${MAX_USERS} users`, {})
        return [{ type: 'UserAdded', data: { tenantId, userId, name, addedAt: at } }]
      }
      case 'grant':
        return postOrPropose({ ...command, postingId: command.grantId }, state, () =>
          grant(command, state),
        )
      case 'set-limit':
        return setLimit(command, state)
      case 'post-adjustment':
        return postOrPropose({ ...command, postingId: command.adjustmentId }, state, () =>
          adjust(command, state),
        )
      case 'approve':
        return approve(command, state)
      case 'reject':
        return reject(command, state)
      case 'set-setting':
        return setSetting(command, state.settings)
      default:
        return unreachable(command)
    }
  },

  evolve(state, event) {
    if (isSettingEvent(event)) return { ...state, settings: evolveSettings(state.settings, event) }
    switch (event.type) {
      case 'TenantOpened':
        return { ...state, name: event.data.name }
      case 'UserAdded':
        return { ...state, users: state.users.set(event.data.userId, event.data) }
      case 'CreditGranted':
        return {
          ...state,
          ...granted(state, event.data),
          correctable: withGrant(state.correctable, event.data),
          recent: withRecent(state.recent, {
            ...event.data,
            atMs: fromTimestamp(event.data.grantedAt),
          }),
        }
      case 'CreditLimitSet':
        return { ...state, ...limitSet(state, event.data) }
      case 'AdjustmentPosted': {
        const { currency, amount, postedAt } = event.data
        return {
          ...state,
          ...adjustmentNamed(state, event.data),
          postedPico: withPosted(state, currency, amount),
          correctable: withCorrection(state.correctable, event.data),
          recent: withRecent(state.recent, { ...event.data, atMs: fromTimestamp(postedAt) }),
        }
      }
      case 'PostingProposed': {
        const { posting, keyHash } = event.data
        const named =
          posting.kind === 'grant'
            ? grantNamed(state, { ...posting, keyHash })
            : adjustmentNamed(state, { ...posting, keyHash })
        return { ...state, ...named, ...withProposal(state, event.data) }
      }
      case 'PostingApproved':
      case 'PostingRejected':
        return { ...state, ...withEnd(state, event) }
      default:
        return unreachable(event)
    }
  },
}

type Command<Kind extends AccountCommand['kind']> = Extract<AccountCommand, { readonly kind: Kind }>

function adjust(command: Command<'post-adjustment'>, state: AccountState): readonly AccountEvent[] {
  const { tenantId, adjustmentId, currency, correction, reason, code, keyHash, by, at } = command
  const amount = canonicalAmount(command.amount)
  if (parseAmount(amount) === 0n)
    throw new DomainError('amount_invalid', 'an adjustment must not be zero', { amount })
  const corrects = correctsOf(correction)
  const terms = { adjustmentId, currency, amount, corrects, ...postingMembers({ code }), reason }
  if (isKeyRepeated(state, keyHash, adjustmentFingerprint(terms))) return []
  if (isRepeated(state, adjustmentId, fingerprint(nameOf(corrects), currency, amount))) return []
  checkCorrection({ tenantId, currency, amount, correction }, state.correctable)
  checkPosted(state, currency, amount)
  const data = { tenantId, ...terms, ...postingMembers({ keyHash, by }), postedAt: at }
  return [{ type: 'AdjustmentPosted', data }]
}

type AdjustmentTerms = Omit<
  AccountEventData<'AdjustmentPosted'>,
  'tenantId' | 'keyHash' | 'by' | 'postedAt'
>

/** The state in which the id and the key of an adjustment are taken. */
function adjustmentNamed(
  state: AccountState,
  terms: AdjustmentTerms & { readonly keyHash?: string | undefined },
): Pick<AccountState, 'postings' | 'keys'> {
  const { adjustmentId, currency, amount, corrects, keyHash } = terms
  return {
    ...withPosting(state, adjustmentId, fingerprint(nameOf(corrects), currency, amount)),
    keys: withKey(state.keys, keyHash, adjustmentFingerprint(terms)),
  }
}

/** All members of a request for an adjustment, as one text. */
function adjustmentFingerprint({
  adjustmentId,
  currency,
  amount,
  corrects,
  code,
  reason,
}: AdjustmentTerms): string {
  return JSON.stringify([
    'adjustment',
    adjustmentId,
    currency,
    amount,
    nameOf(corrects),
    code ?? '',
    reason,
  ])
}
