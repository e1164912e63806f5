import { fromTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { isWithinRanges } from '../../kernel/address-ranges.ts'
import type { TokenLimits, TokenRole } from './events.ts'
import { type DefaultTokenLimits, limitNames } from './limits.ts'

/** The bounds of a token; an absent member bounds nothing. */
export interface Bounds {
  /** External model names. */
  readonly models: readonly string[] | undefined
  /** Ranges of addresses (CIDR) it may be used from. */
  readonly addresses: readonly string[] | undefined
  /** RFC 3339. */
  readonly expiresAt: string | undefined
  readonly limits: TokenLimits
  /** The role never changes; a token with one issues, changes and rotates only tokens of the same role. */
  readonly role?: TokenRole | undefined
}

/** The bounds that a request names: null asks for none, an absent one leaves it open. */
export interface AskedBounds {
  readonly models?: readonly string[] | null
  readonly addresses?: readonly string[] | null
  readonly expiresAt?: string | null
  readonly limits?: TokenLimits
  readonly role?: TokenRole
}

/** The bounds of a new token: a member that the request leaves out is inherited from the issuer. */
export function inheritedBounds(issuer: Bounds, asked: AskedBounds): Bounds {
  const of = <T>(given: T | null | undefined, own: T | undefined): T | undefined =>
    given === undefined ? own : (given ?? undefined)
  return {
    models: of(asked.models, issuer.models),
    addresses: of(asked.addresses, issuer.addresses),
    expiresAt: of(asked.expiresAt, issuer.expiresAt),
    limits: { ...issuer.limits, ...asked.limits },
    role: asked.role ?? issuer.role,
  }
}

/** The union of the bounds of two tokens, but for their roles. */
export function widerBounds(a: Bounds, b: Bounds): Omit<Bounds, 'role'> {
  const both = (
    one: readonly string[] | undefined,
    other: readonly string[] | undefined,
  ): readonly string[] | undefined =>
    one === undefined || other === undefined ? undefined : [...one, ...other]
  const limits = limitNames.map((name) => {
    const most = Math.max(inForce(a.limits[name], undefined), inForce(b.limits[name], undefined))
    return [name, Number.isFinite(most) ? most : null] as const
  })
  return {
    models: both(a.models, b.models),
    addresses: both(a.addresses, b.addresses),
    expiresAt: endOf(a) > endOf(b) ? a.expiresAt : b.expiresAt,
    limits: Object.fromEntries(limits),
  }
}

/**
 * A limit that a token does not have is taken from `defaults`.
 * @throws DomainError `scope_denied` naming the member in which `inner` is wider than `outer`
 */
export function requireWithin(
  outer: Bounds,
  inner: Bounds,
  { words, defaults = {} }: { readonly words: string; readonly defaults?: DefaultTokenLimits },
): void {
  const refuse = (param: string): never => {
    throw new DomainError('scope_denied', `${param} ${words}`, { param })
  }
  const { models, addresses, role } = outer
  if (models !== undefined && inner.models?.every((name) => models.includes(name)) !== true)
    refuse('models')
  if (addresses !== undefined)
    if (inner.addresses?.every((range) => isWithinRanges(range, addresses)) !== true)
      refuse('addresses')
  if (role !== undefined && inner.role !== role) refuse('role')
  if (endOf(inner) > endOf(outer)) refuse('expires_at')
  for (const name of limitNames)
    if (inForce(inner.limits[name], defaults[name]) > inForce(outer.limits[name], defaults[name]))
      refuse('limits')
}

const inForce = (own: number | null | undefined, fallback: number | undefined): number =>
  (own === undefined ? fallback : own) ?? Number.POSITIVE_INFINITY

const endOf = ({ expiresAt }: Bounds): number =>
  expiresAt === undefined ? Number.POSITIVE_INFINITY : fromTimestamp(expiresAt)
