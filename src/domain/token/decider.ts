import { Set as ManyItems } from 'immutable'
import { unreachable } from '../../kernel/assert.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { membersGiven } from '../../kernel/json.ts'
import type { Decider } from '../decider.ts'
import { checkAddresses } from './addresses.ts'
import { type Bounds, requireWithin } from './bounds.ts'
import { type Changeable, type ChangeToken, changeToken } from './changes.ts'
import {
  mayHaveRole,
  type QueryScope,
  type TokenEvent,
  type TokenEventData,
  type TokenRole,
} from './events.ts'
import { checkLimits, checkModels } from './limits.ts'
import { checkSubject } from './subject.ts'

/** One token, with the hash of its secret, never the secret itself (P7). */
type TokenState = { readonly phase: 'none' } | IssuedToken

/** Times are RFC 3339. */
export interface IssuedToken extends Changeable {
  readonly phase: 'issued'
  readonly tenantId: string
  readonly userId: string
  readonly scope: QueryScope | undefined
  readonly role: TokenRole | undefined
  /** The person who signs in by name; undefined: its secret is used. */
  readonly subject: string | undefined
  /** The value of a claim that gives the subject its role; undefined: an invitation. */
  readonly claim: string | undefined
  readonly secretHash: string
  readonly lastFour: string
  /** Hashes this token ever had: a secret is never used twice. */
  readonly usedHashes: ManyItems<string>
  /** Events since it was issued; each use of the aggregate reads all of them. */
  readonly changes: number
  /** The token that issued it; undefined where a command of an operator did. */
  readonly issuedBy: string | undefined
  /** The tokens that gave it a new secret. */
  readonly rotatedBy: ManyItems<string>
  readonly issuedAt: string
  readonly rotatedAt: string | undefined
  readonly disabledAt: string | undefined
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
      /** End of the secret that was looked at; absent: any. */
      readonly expectedLastFour?: string | undefined
      /** The token that asks; absent for a command of an operator. */
      readonly rotatedBy?: string
      /** Why; absent: not said. */
      readonly reason?: string | undefined
      /** The bounds of the token that asks: it gets no secret of a wider one. */
      readonly manager?: Bounds
      readonly at: string
    }
  | ChangeToken
  | {
      readonly kind: 'disable'
      readonly tokenId: string
      readonly reason: string
      readonly at: string
    }

/**
 * A repeated issue, a rotation to the current secret, a change to the present settings and a second
 * disabling decide to no event.
 *
 * @throws DomainError `token_exists`, `token_not_found`, `token_disabled`, `token_secret_reused`,
 *   `token_scope_invalid`, `token_expiry_invalid`, `token_limits_invalid`, `token_models_invalid`,
 *   `token_addresses_invalid`, `token_bound_reached`, `scope_denied`
 */
export const tokenDecider: Decider<TokenState, TokenCommand, TokenEvent> = {
  initial: { phase: 'none' },

  decide(command, state) {
    switch (command.kind) {
      case 'issue':
        return issue(command.data, state)
      case 'rotate':
        return rotate(command, state)
      case 'change':
        if (state.phase === 'none') return notFound(command.tokenId)
        if (state.disabledAt !== undefined)
          return disabled(command.tokenId, 'a disabled token cannot be changed')
        return bounded(state, changeToken(command, state))
      case 'disable': {
        const { tokenId, reason, at } = command
        if (state.phase === 'none') return notFound(tokenId)
        if (state.disabledAt !== undefined) return []
        return [{ type: 'TokenDisabled', data: { tokenId, reason, disabledAt: at } }]
      }
      default:
        return unreachable(command)
    }
  },

  evolve(state, event) {
    switch (event.type) {
      case 'TokenIssued': {
        const { data } = event
        return {
          phase: 'issued',
          tenantId: data.tenantId,
          userId: data.userId,
          kind: data.kind,
          name: data.name,
          scope: data.scope,
          role: data.role,
          subject: data.subject,
          claim: data.claim,
          models: data.models,
          addresses: data.addresses,
          limits: data.limits ?? {},
          expiresAt: data.expiresAt,
          secretHash: data.secretHash,
          lastFour: data.lastFour,
          usedHashes: ManyItems([data.secretHash]),
          changes: 0,
          issuedBy: data.issuedBy,
          rotatedBy: ManyItems(),
          issuedAt: data.issuedAt,
          rotatedAt: undefined,
          disabledAt: undefined,
        }
      }
      case 'TokenRotated': {
        if (state.phase === 'none') return state
        const { secretHash, lastFour, rotatedAt, rotatedBy: by } = event.data
        const usedHashes = state.usedHashes.add(secretHash)
        const rotatedBy = by === undefined ? state.rotatedBy : state.rotatedBy.add(by)
        return { ...changed(state), secretHash, lastFour, rotatedAt, rotatedBy, usedHashes }
      }
      case 'TokenLimitsChanged':
        return state.phase === 'none' ? state : { ...changed(state), limits: event.data.limits }
      case 'TokenUpdated': {
        if (state.phase === 'none') return state
        const { name, models, addresses, expiresAt } = event.data
        return { ...changed(state), name, models, addresses, expiresAt }
      }
      case 'TokenDisabled':
        return state.phase === 'none' ? state : { ...state, disabledAt: event.data.disabledAt }
      default:
        return unreachable(event)
    }
  },
}

function issue(data: TokenEventData<'TokenIssued'>, state: TokenState): readonly TokenEvent[] {
  const { tokenId, kind, expiresAt, issuedAt } = data
  if (state.phase === 'issued') {
    if (state.secretHash === data.secretHash && state.tenantId === data.tenantId) return []
    throw new DomainError('token_exists', 'the token already exists', { tokenId })
  }
  checkScope(data)
  checkSubject(data)
  if (expiresAt !== undefined && fromTimestamp(expiresAt) <= fromTimestamp(issuedAt))
    throw new DomainError('token_expiry_invalid', 'a token must expire after it is issued', {
      tokenId,
      param: 'expires_at',
    })
  checkModels(tokenId, kind, data.models)
  checkAddresses(tokenId, data.addresses)
  if (data.limits !== undefined) checkLimits(tokenId, kind, data.limits)
  return [{ type: 'TokenIssued', data }]
}

function rotate(
  command: Extract<TokenCommand, { readonly kind: 'rotate' }>,
  state: TokenState,
): readonly TokenEvent[] {
  const { tokenId, secretHash, lastFour, oldValidUntil, expectedLastFour, manager, at } = command
  if (state.phase === 'none') return notFound(tokenId)
  if (state.disabledAt !== undefined) return disabled(tokenId, 'a disabled token cannot be rotated')
  // With its secret, another person could act under this name.
  if (state.subject !== undefined)
    throw new DomainError(
      'scope_denied',
      `this token is used by ${state.subject} alone, who signs in by name: it has no secret to rotate`,
      {},
    )
  if (manager !== undefined)
    requireWithin(manager, state, {
      words:
        'of this token is wider than that of the token of this request, which may not get its secret',
    })
  if (state.secretHash === secretHash) return []
  if (expectedLastFour !== undefined && expectedLastFour !== state.lastFour)
    throw new DomainError(
      'token_secret_reused',
      `the token was rotated in the meantime, and its secret ends in ${state.lastFour} now: it was shown once, as the answer to that request`,
      { tokenId },
    )
  if (state.usedHashes.has(secretHash))
    throw new DomainError('token_secret_reused', 'a rotation needs a new secret', { tokenId })
  if (fromTimestamp(oldValidUntil) < fromTimestamp(at))
    throw new DomainError('token_expiry_invalid', 'the old secret cannot end in the past', {
      tokenId,
    })
  const { rotatedBy, reason } = command
  const given = membersGiven({ rotatedBy, reason })
  const data = { tokenId, secretHash, lastFour, oldValidUntil, ...given, rotatedAt: at }
  return bounded(state, [{ type: 'TokenRotated', data }])
}

/** The most changes of one token; a tenant that needs more issues another token. */
export const MAX_TOKEN_CHANGES = 10_000

const changed = (state: IssuedToken): IssuedToken => ({ ...state, changes: state.changes + 1 })

/** @throws DomainError `token_bound_reached` */
function bounded({ changes }: IssuedToken, events: readonly TokenEvent[]): readonly TokenEvent[] {
  if (changes + events.length <= MAX_TOKEN_CHANGES) return events
  throw new DomainError(
    'token_bound_reached',
    `a token can be changed at most ${MAX_TOKEN_CHANGES} times: issue a new one`,
    {},
  )
}

/** @throws DomainError `token_scope_invalid` */
function checkScope({ tokenId, kind, scope, role }: TokenEventData<'TokenIssued'>): void {
  if (role !== undefined && !mayHaveRole(kind))
    throw new DomainError('token_scope_invalid', 'only a query or an admin token has a role', {
      tokenId,
      param: 'role',
    })
  if (scope === undefined || kind === 'query') return
  const words =
    kind !== 'admin'
      ? 'only a query or an admin token has a scope'
      : 'an admin token has the scope all_users of its tenant, or all_tenants'
  if (kind !== 'admin' || (scope.level !== 'all_users' && scope.level !== 'all_tenants'))
    throw new DomainError('token_scope_invalid', words, { tokenId, param: 'scope' })
}

function disabled(tokenId: string, message: string): never {
  throw new DomainError('token_disabled', message, { tokenId })
}

function notFound(tokenId: string): never {
  throw new DomainError('token_not_found', 'the token does not exist', { tokenId })
}
