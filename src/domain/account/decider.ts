import { OrderedMap } from 'immutable'
import { unreachable } from '../../kernel/assert.ts'
import { DomainError } from '../../kernel/errors.ts'
import { parseAmount, type Currency } from '../../kernel/money.ts'
import type { Decider } from '../decider.ts'
import {
  checkCorrection,
  type Correctable,
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
  type CreditState,
  fingerprint,
  grant,
  type GrantCredit,
  granted,
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
import type { AccountEvent, AccountEventData } from './events.ts'
import {
  type AccountSettings,
  evolveSettings,
  isSettingEvent,
  setSetting,
  type SetSetting,
} from './settings.ts'

/** Users of one tenant: each is read with its account. */
export const MAX_USERS = 10_000

/**
 * One tenant's account: its identity and its credit. Balances are a projection of the ledger
 * instead.
 */
export interface AccountState extends CreditState {
  /** Undefined until the tenant is opened. */
  readonly name: string | undefined
  /** Users by id, in the order in which they were added. */
  readonly users: OrderedMap<string, AccountEventData<'UserAdded'>>
  readonly correctable: Correctable
  readonly settings: AccountSettings
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
      /** Hex SHA-256 of the `Idempotency-Key` it was sent under; undefined: none. */
      readonly keyHash?: string | undefined
      readonly at: string
    }
  | SetSetting

/**
 * Repeating a command with the same ids and figures yields no event, so that repeating a set-up is
 * harmless.
 *
 * @throws DomainError `tenant_exists`, `tenant_not_found`, `user_exists`, `too_many_users`,
 *   `posting_id_taken`, `limit_id_taken`, `idempotency_key_reused`, `amount_invalid`,
 *   `adjustment_source_invalid`, `adjustment_out_of_bounds`, those of `decideSetting`
 */
export const accountDecider: Decider<AccountState, AccountCommand, AccountEvent> = {
  initial: {
    name: undefined,
    users: OrderedMap(),
    ...noCredit,
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
        return grant(command, state)
      case 'set-limit':
        return setLimit(command, state)
      case 'post-adjustment':
        return adjust(command, state)
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
        }
      case 'CreditLimitSet':
        return { ...state, ...limitSet(state, event.data) }
      case 'AdjustmentPosted': {
        const { adjustmentId, currency, amount, corrects, keyHash } = event.data
        return {
          ...state,
          ...withPosting(state, adjustmentId, fingerprint(nameOf(corrects), currency, amount)),
          postedPico: withPosted(state, currency, amount),
          keys: withKey(state.keys, keyHash, adjustmentFingerprint(event.data)),
          correctable: withCorrection(state.correctable, event.data),
        }
      }
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

/** All members of a request for an adjustment, as one text. */
function adjustmentFingerprint({
  adjustmentId,
  currency,
  amount,
  corrects,
  code,
  reason,
}: Omit<AccountEventData<'AdjustmentPosted'>, 'tenantId' | 'keyHash' | 'by' | 'postedAt'>): string {
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
