import { OrderedMap } from 'immutable'
import { unreachable } from '../../kernel/assert.ts'
import { isSameText } from '../../kernel/characters.ts'
import { DomainError } from '../../kernel/errors.ts'
import { parseAmount, type Currency } from '../../kernel/money.ts'
import type { Decider } from '../decider.ts'
import {
  checkCorrection,
  type AdjustmentTarget,
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
  limitNamed,
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
import { ruleAfter } from './approval-rule.ts'
import type { AccountEvent, AccountEventData } from './events.ts'
import { noProposals } from './proposal-state.ts'
import {
  approve,
  type ApprovePosting,
  postOrPropose,
  type PostingState,
  reject,
  type RejectPosting,
  setOrPropose,
} from './proposals.ts'
import { isSettingChange } from './setting-changes.ts'
import { isSettingEvent, type SetSetting } from './settings.ts'
import { type AccountUsers, addUser, type NameUser, renameUser, withUser } from './users.ts'

/**
 * One tenant's account: its identity and its credit. Balances are a projection of the ledger
 * instead.
 */
export interface AccountState extends PostingState {
  /** The name it was opened with; undefined until the tenant is opened. */
  readonly openedAs: string | undefined
  /** The present name; undefined until the tenant is opened. */
  readonly name: string | undefined
  /** RFC 3339; undefined until the tenant is opened. */
  readonly openedAt: string | undefined
  readonly users: AccountUsers
}

/** `at` is RFC 3339, amounts are decimal strings of at most 12 decimals. */
export type AccountCommand =
  | {
      readonly kind: 'open'
      readonly tenantId: string
      readonly name: string
      readonly at: string
    }
  | NameUser
  | GrantCredit
  | SetCreditLimit
  | {
      readonly kind: 'post-adjustment'
      readonly tenantId: string
      readonly adjustmentId: string
      readonly currency: Currency
      /** Signed: positive gives to the tenant. */
      readonly amount: string
      readonly correction: AdjustmentTarget
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
 *   `user_not_found`, `status_refused`, `posting_id_taken`, `limit_id_taken`, `idempotency_key_reused`, `amount_invalid`,
 *   `adjustment_source_invalid`, `adjustment_out_of_bounds`, `proposal_not_found`, `proposal_ended`,
 *   `proposal_expired`, `proposal_own`, `proposal_not_independent`, `proposal_outdated`, those of `decideSetting`
 */
export const accountDecider: Decider<AccountState, AccountCommand, AccountEvent> = {
  initial: {
    openedAs: undefined,
    name: undefined,
    openedAt: undefined,
    users: OrderedMap(),
    ...noCredit,
    ...noProposals,
    correctable: nothingCorrectable,
    settings: {},
  },

  decide(command, state) {
    const { tenantId } = command
    if (command.kind === 'open') {
      // A tenant is the same with its first name too, so that repeating a set-up stays harmless after a rename.
      const { openedAs, name = openedAs } = state
      if (openedAs !== undefined && name !== undefined) {
        if (isSameText(openedAs, command.name) || isSameText(name, command.name)) return []
        const message = `the tenant already exists, named \`${name}\``
        throw new DomainError('tenant_exists', message, { tenantId })
      }
      return [
        { type: 'TenantOpened', data: { tenantId, name: command.name, openedAt: command.at } },
      ]
    }
    if (state.name === undefined)
      throw new DomainError('tenant_not_found', 'The tenant does not exist', { tenantId })
    switch (command.kind) {
      case 'add-user':
        return addUser(command, state.users)
      case 'rename-user':
        return renameUser(command, state.users)
      case 'grant':
        return postOrPropose({ ...command, postingId: command.grantId }, state, () =>
          grant(command, state),
        )
      case 'set-limit':
        return postOrPropose(
          { ...command, postingId: command.limitId, proposedKind: 'limit' },
          state,
          () => setLimit(command, state),
        )
      case 'post-adjustment':
        return postOrPropose({ ...command, postingId: command.adjustmentId }, state, () =>
          adjust(command, state),
        )
      case 'approve':
        return approve(command, state)
      case 'reject':
        return reject(command, state)
      case 'set-setting':
        return setOrPropose(command, state)
      default:
        return unreachable(command)
    }
  },

  evolve(before, event) {
    const state = { ...before, ...ruleAfter(before, event) }
    if (isSettingEvent(event)) return { ...state, name: state.settings.name?.name ?? state.name }
    switch (event.type) {
      case 'TenantOpened': {
        const { name, openedAt } = event.data
        // The name is a setting from the beginning, so that the same name again changes nothing.
        const settings = { ...state.settings, name: { revision: 0, name } }
        return { ...state, openedAs: name, name, openedAt, settings }
      }
      case 'UserAdded':
      case 'UserRenamed':
        return { ...state, users: withUser(state.users, event) }
      case 'CreditGranted':
        return {
          ...state,
          ...granted(state, event.data),
          correctable: withGrant(state.correctable, event.data),
        }
      case 'CreditLimitSet':
        return { ...state, ...limitSet(state, event.data) }
      case 'AdjustmentPosted': {
        const { currency, amount } = event.data
        return {
          ...state,
          ...adjustmentNamed(state, event.data),
          postedPico: withPosted(state, currency, amount),
          correctable: withCorrection(state.correctable, event.data),
        }
      }
      case 'PostingProposed':
        return { ...state, ...proposedNamed(state, event.data) }
      case 'PostingApproved':
      case 'PostingRejected':
        return state
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

/** The state in which the id and the key of a proposed posting are taken; a setting has none. */
function proposedNamed(
  state: AccountState,
  { posting, keyHash }: AccountEventData<'PostingProposed'>,
): Partial<AccountState> {
  if (isSettingChange(posting)) return {}
  if (posting.kind === 'grant') return grantNamed(state, { ...posting, keyHash })
  if (posting.kind === 'limit') return limitNamed(state, { ...posting, keyHash })
  return adjustmentNamed(state, { ...posting, keyHash })
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
