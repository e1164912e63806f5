import { isSameText } from '../../kernel/characters.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { membersGiven } from '../../kernel/json.ts'
import { checkAddresses } from './addresses.ts'
import { type Bounds, requireWithin, widerBounds } from './bounds.ts'
import type { TokenEvent, TokenKind } from './events.ts'
import {
  changedLimits,
  checkLimits,
  checkModels,
  type DefaultTokenLimits,
  sameLimits,
  type TokenLimitChanges,
} from './limits.ts'

/** The settings of an issued token that can be changed; an absent one stays. */
export interface TokenChanges {
  readonly name?: string
  /** External model names; null for all. */
  readonly models?: readonly string[] | null
  /** Ranges of addresses (CIDR); null for anywhere. */
  readonly addresses?: readonly string[] | null
  /** RFC 3339; null for never. */
  readonly expiresAt?: string | null
  readonly limits?: TokenLimitChanges
}

/** The changeable settings of a token, with their present values. */
export interface Changeable extends Bounds {
  readonly kind: TokenKind
  readonly name: string
}

export interface ChangeToken {
  readonly kind: 'change'
  readonly tokenId: string
  readonly changes: TokenChanges
  /** Present if the actor may not widen a token: the default limits. */
  readonly onlyNarrower?: DefaultTokenLimits
  /** The bounds of the token that makes the change: it widens no other beyond them. */
  readonly manager?: Bounds
  /** Why; absent: not said. */
  readonly reason?: string | undefined
  readonly at: string
}

/**
 * Decides a change of a token that is not disabled; the same again decides to no event.
 *
 * @throws DomainError `token_limits_invalid`, `token_models_invalid`, `token_addresses_invalid`,
 *   `token_expiry_invalid`, `scope_denied`
 */
export function changeToken(command: ChangeToken, now: Changeable): readonly TokenEvent[] {
  const { tokenId, changes, at } = command
  const next: Changeable = {
    kind: now.kind,
    role: now.role,
    name: changes.name ?? now.name,
    models: changes.models === undefined ? now.models : (changes.models ?? undefined),
    addresses: changes.addresses === undefined ? now.addresses : (changes.addresses ?? undefined),
    expiresAt: changes.expiresAt === undefined ? now.expiresAt : (changes.expiresAt ?? undefined),
    limits: changes.limits === undefined ? now.limits : changedLimits(now.limits, changes.limits),
  }
  if (changes.models !== undefined) checkModels(tokenId, now.kind, next.models)
  if (changes.addresses !== undefined) checkAddresses(tokenId, next.addresses)
  if (changes.limits !== undefined) checkLimits(tokenId, now.kind, next.limits)
  const moved = !sameTime(now.expiresAt, next.expiresAt)
  if (moved && next.expiresAt !== undefined && fromTimestamp(next.expiresAt) <= fromTimestamp(at))
    throw new DomainError('token_expiry_invalid', 'a token must expire later than now', {
      tokenId,
      param: 'expires_at',
    })
  const { onlyNarrower, manager } = command
  if (onlyNarrower !== undefined)
    requireWithin(now, next, {
      words: 'may only be narrowed with this token; an administrator can widen it',
      defaults: onlyNarrower,
    })
  else if (manager !== undefined)
    requireWithin({ ...widerBounds(now, manager), role: manager.role }, next, {
      words: 'may not be wider than that of the token of this request',
    })
  return [...updated(command, now, next, moved), ...limited(command, now, next)]
}

function updated(
  { tokenId, reason, at }: ChangeToken,
  now: Changeable,
  next: Changeable,
  moved: boolean,
): readonly TokenEvent[] {
  const { name, models, addresses, expiresAt } = next
  const isSame = sameNames(models, now.models) && sameNames(addresses, now.addresses)
  if (isSameText(name, now.name) && isSame && !moved) return []
  const bounds = {
    ...(models === undefined ? {} : { models: [...models] }),
    ...(addresses === undefined ? {} : { addresses: [...addresses] }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }
  const data = { tokenId, name, ...bounds, ...membersGiven({ reason }), updatedAt: at }
  return [{ type: 'TokenUpdated', data }]
}

function limited(
  { tokenId, reason, at }: ChangeToken,
  now: Changeable,
  { limits }: Changeable,
): readonly TokenEvent[] {
  if (sameLimits(now.limits, limits)) return []
  const data = { tokenId, limits, ...membersGiven({ reason }), changedAt: at }
  return [{ type: 'TokenLimitsChanged', data }]
}

function sameTime(a: string | undefined, b: string | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && fromTimestamp(a) === fromTimestamp(b))
}

/** Whether both lists have the same items, in any order. */
function sameNames(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.length === b.length && a.every((name) => b.includes(name))
}
