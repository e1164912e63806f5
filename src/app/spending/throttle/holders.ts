import type { AccountLimits, LimitFigures } from '../../../domain/account/limits.ts'
import type { TokenKind, TokenLimits } from '../../../domain/token/events.ts'
import { type LimitName, limitNames } from '../../../domain/token/limits.ts'

/** Whose limit it is. */
export type Whose = 'token' | 'user' | 'tenant'

/** A token, user or tenant whose limits a request counts against. */
export interface Holder {
  readonly whose: Whose
  /** Distinct from every other holder's, of any tenant. */
  readonly id: string
  readonly limits: Limits
}

/** The caller of a request that is counted. */
export interface LimitedCaller {
  readonly tokenId: string
  readonly userId: string
  readonly tenantId: string
  readonly kind: TokenKind
  /** Limits of the token; undefined means none. */
  readonly limits: Limits | undefined
}

/** The token itself, if it has limits. */
export function ownHolder({ tokenId, limits }: LimitedCaller): readonly Holder[] {
  return limits === undefined ? [] : [{ whose: 'token', id: tokenId, limits }]
}

/** The token, user and tenant that have limits; tokens that call no model have only their own. */
export function holdersOf(
  caller: LimitedCaller,
  account: AccountLimits | undefined,
): readonly Holder[] {
  const own = ownHolder(caller)
  if (account === undefined || account.limits.length === 0 || caller.kind !== 'model') return own
  const { tenantId, userId } = caller
  const shared = account.limits.flatMap(({ subject, ...limits }): readonly Holder[] => {
    if (subject.kind === 'tenant')
      return [{ whose: 'tenant', id: tenantHolderId(tenantId), limits: whole(limits) }]
    if (subject.userId !== userId) return []
    return [{ whose: 'user', id: userHolderId(tenantId, userId), limits: whole(limits) }]
  })
  return [...own, ...shared]
}

/** No id contains a line break. */
const tenantHolderId = (tenantId: string): string => `tenant\n${tenantId}`
const userHolderId = (tenantId: string, userId: string): string => `user\n${tenantId}\n${userId}`

function whole(figures: LimitFigures): Limits {
  return { ...noLimits, ...figures }
}

/** How much is allowed per minute or at a time; undefined is no limit. */
export interface Limits {
  /** Calls and creations of tasks. */
  readonly requestsPerMinute: number | undefined
  /** Tokens of text calls, in and out. */
  readonly tokensPerMinute: number | undefined
  /** Synchronous calls in flight. */
  readonly concurrentCalls: number | undefined
  /** Asynchronous tasks that have not ended. */
  readonly concurrentTasks: number | undefined
}

export const noLimits: Limits = {
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  concurrentCalls: undefined,
  concurrentTasks: undefined,
}

/** The token's limits, with the operator's defaults for unset ones; undefined is none. */
export function limitsInForce(own: TokenLimits | undefined, defaults: Limits): Limits | undefined {
  const inForce = (name: LimitName): number | undefined => {
    const said = own?.[name]
    return said === undefined ? defaults[name] : (said ?? undefined)
  }
  const limits = limitNames.map((name) => [name, inForce(name)] as const)
  if (limits.every(([, limit]) => limit === undefined)) return undefined
  return { ...noLimits, ...Object.fromEntries(limits) }
}
