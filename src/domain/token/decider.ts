import { unreachable } from '../../kernel/assert.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { Decider } from '../decider.ts'
import type { TokenEvent, TokenEventData, TokenKind, TokenLimits } from './events.ts'
import { changedLimits, checkLimits, sameLimits, type TokenLimitChanges } from './limits.ts'

/** One token: the hash of its secret, never the secret (P7). */
export type TokenState =
  | { readonly phase: 'none' }
  | {
      readonly phase: 'issued'
      readonly tenantId: string
      readonly kind: TokenKind
      readonly limits: TokenLimits
      readonly secretHash: string
      /** Hashes this token ever had: a secret is never used twice. */
      readonly usedHashes: ReadonlySet<string>
      readonly disabled: boolean
    }

/** `at` and `oldValidUntil` are RFC 3339. */
export type TokenCommand =
  | { readonly kind: 'issue'; readonly data: TokenEventData<'TokenIssued'> }
  | {
      readonly kind: 'rotate'
      readonly tokenId: string
      readonly secretHash: string
      readonly lastFour: string
      readonly oldValidUntil: string
      readonly at: string
    }
  | {
      readonly kind: 'change-limits'
      readonly tokenId: string
      readonly changes: TokenLimitChanges
      readonly at: string
    }
  | {
      readonly kind: 'disable'
      readonly tokenId: string
      readonly reason: string
      readonly at: string
    }

/**
 * Issuing, rotating to the current secret, changing limits to what they are and disabling again
 * decide to no event.
 *
 * @throws DomainError `token_exists`, `token_not_found`, `token_disabled`, `token_secret_reused`,
 *   `token_scope_invalid`, `token_expiry_invalid`, `token_limits_invalid`
 */
export const tokenDecider: Decider<TokenState, TokenCommand, TokenEvent> = {
  initial: { phase: 'none' },

  decide(command, state) {
    switch (command.kind) {
      case 'issue':
        return issue(command.data, state)
      case 'rotate':
        return rotate(command, state)
      case 'change-limits':
        return changeLimits(command, state)
      case 'disable': {
        const { tokenId, reason, at } = command
        if (state.phase === 'none') return notFound(tokenId)
        if (state.disabled) return []
        return [{ type: 'TokenDisabled', data: { tokenId, reason, disabledAt: at } }]
      }
      default:
        return unreachable(command)
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case 'TokenIssued': {
        const { tenantId, kind, limits = {}, secretHash } = event.data
        const usedHashes = new Set([secretHash])
        return { phase: 'issued', tenantId, kind, limits, secretHash, usedHashes, disabled: false }
      }
      case 'TokenRotated': {
        if (state.phase === 'none') return state
        const { secretHash } = event.data
        return { ...state, secretHash, usedHashes: new Set([...state.usedHashes, secretHash]) }
      }
      case 'TokenLimitsChanged':
        return state.phase === 'none' ? state : { ...state, limits: event.data.limits }
      case 'TokenDisabled':
        return state.phase === 'none' ? state : { ...state, disabled: true }
      default:
        return unreachable(event)
    }
  },
}

function issue(data: TokenEventData<'TokenIssued'>, state: TokenState): readonly TokenEvent[] {
  const { tokenId, kind, scope, expiresAt, issuedAt } = data
  if (state.phase === 'issued') {
    if (state.secretHash === data.secretHash && state.tenantId === data.tenantId) return []
    throw new DomainError('token_exists', 'the token exists', { tokenId })
  }
  if (kind !== 'query' && scope !== undefined)
    throw new DomainError('token_scope_invalid', 'only a query token has a scope', { tokenId })
  if (expiresAt !== undefined && fromTimestamp(expiresAt) <= fromTimestamp(issuedAt))
    throw new DomainError('token_expiry_invalid', 'a token must expire after it is issued', {
      tokenId,
    })
  if (data.limits !== undefined) checkLimits(tokenId, kind, data.limits)
  return [{ type: 'TokenIssued', data }]
}

function rotate(
  command: Extract<TokenCommand, { readonly kind: 'rotate' }>,
  state: TokenState,
): readonly TokenEvent[] {
  const { tokenId, secretHash, lastFour, oldValidUntil, at } = command
  if (state.phase === 'none') return notFound(tokenId)
  if (state.disabled)
    throw new DomainError('token_disabled', 'a disabled token cannot be rotated', { tokenId })
  if (state.secretHash === secretHash) return []
  if (state.usedHashes.has(secretHash))
    throw new DomainError('token_secret_reused', 'a rotation needs a new secret', { tokenId })
  if (fromTimestamp(oldValidUntil) < fromTimestamp(at))
    throw new DomainError('token_expiry_invalid', 'the old secret cannot end in the past', {
      tokenId,
    })
  return [
    {
      type: 'TokenRotated',
      data: { tokenId, secretHash, lastFour, oldValidUntil, rotatedAt: at },
    },
  ]
}

function changeLimits(
  command: Extract<TokenCommand, { readonly kind: 'change-limits' }>,
  state: TokenState,
): readonly TokenEvent[] {
  const { tokenId, changes, at } = command
  if (state.phase === 'none') return notFound(tokenId)
  if (state.disabled)
    throw new DomainError('token_disabled', 'a disabled token has no limits', { tokenId })
  const limits = changedLimits(state.limits, changes)
  checkLimits(tokenId, state.kind, limits)
  if (sameLimits(state.limits, limits)) return []
  return [{ type: 'TokenLimitsChanged', data: { tokenId, limits, changedAt: at } }]
}

function notFound(tokenId: string): never {
  throw new DomainError('token_not_found', 'the token does not exist', { tokenId })
}
