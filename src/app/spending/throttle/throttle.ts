import { Counter, type Registry } from 'prom-client'
import type { AccountLimits, LimitFigures } from '../../../domain/account/limits.ts'
import type { QueryScope, TokenKind } from '../../../domain/token/events.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { isDomainError } from '../../../kernel/errors.ts'
import { sharerOf } from '../../../domain/token/sharer.ts'
import type { AccountFacts } from '../../accounts/account-facts.ts'
import type { ReplicaGauges } from '../replica-gauges.ts'
import { createReservations, type Reservation } from '../reservation.ts'
import { measures } from './allowance.ts'
import { type Attempt, createAttempts } from './attempts.ts'
import { createCallsUnderWay } from './concurrent-calls.ts'
import { type AbsorbedCosts, createAbsorbedCosts } from './absorbed-costs.ts'
import {
  createFreeRequests,
  createOwnRequests,
  createRefusalBound,
  type FreeRequests,
  type TakeTurn,
} from './free-requests.ts'
import { type Holder, type Limits, noLimits, rateKeysOf } from './limits.ts'
import { createTokenCounts, type TakeCount } from './token-counts.ts'
import { createRates, type LimitStatus, type LimitStatuses, type Rates } from './rates.ts'

/** The caller of a request that is counted. */
export interface LimitedCaller {
  readonly tokenId: string
  readonly userId: string
  readonly tenantId: string
  readonly kind: TokenKind
  readonly scope?: QueryScope | undefined
  /** Limits of the token; undefined means none. */
  readonly limits: Limits | undefined
}

/** Undefined: the caller has no limit of requests. @throws DomainError `rate_limited` */
export type TakeAttempt = (caller: LimitedCaller) => Attempt | undefined

/** The status of a holder's limits. */
export interface HolderStatus {
  readonly holder: Holder
  readonly perMinute: LimitStatuses
  /** Synchronous calls in flight. */
  readonly calls: number
}

/** Limits the requests of tokens, users and tenants. Without limits it costs two memory reads. */
export interface Throttle {
  /** Counts a request. @throws DomainError `rate_limited`, errors of the log */
  readonly request: (caller: LimitedCaller) => Promise<Reservation | undefined>
  /**
   * Counts a synchronous call: a request, its expected tokens, and a place until it ends.
   * @throws as `request`
   */
  readonly call: (
    caller: LimitedCaller,
    expectedTokens?: () => number,
  ) => Promise<Reservation | undefined>
  /** Counts a query of a token that calls no model, by its user and tenant. @throws DomainError `rate_limited` */
  readonly query: (caller: LimitedCaller) => void
  /**
   * Takes an attempt before a creation or a call costs anything outside of the process.
   * @throws DomainError `rate_limited`
   */
  readonly attempt: TakeAttempt
  /** Waits for the turn of a read, a deletion, or a request that may be a retry. */
  readonly own: TakeTurn
  /** The cost of failed calls that no caller pays. */
  readonly absorbed: AbsorbedCosts
  /** Limits on requests that are not billed. */
  readonly free: FreeRequests
  /** Limits on requests that count the tokens of a prompt; calls do not share them. */
  readonly count: TakeCount
  /** Limits on requests that are refused before their work begins, by address. */
  readonly refusedForms: FreeRequests
  /** Every holder whose limits a request of a caller counts against. @throws errors of the log */
  readonly holdersOf: (caller: LimitedCaller) => Promise<readonly Holder[]>
  /** The status of the caller's tightest limits per minute, by the knowledge of this process. */
  readonly statuses: (caller: LimitedCaller) => LimitStatuses
  readonly statusOf: (holder: Holder) => HolderStatus
  readonly rates: Pick<Rates, 'exchange'>
}

export function createThrottle(deps: {
  readonly facts: Pick<AccountFacts, 'of' | 'known'>
  readonly gauges: Pick<ReplicaGauges, 'ofKind'>
  readonly monotonic: Clock
  readonly ownRequestsPerMinute?: number | undefined
  readonly absorbedCostPerHour?: number | undefined
  readonly freeRequestsPerMinute?: number | undefined
  readonly refusedFormsPerMinute?: number | undefined
  readonly registry?: Registry
}): Throttle {
  const { facts, monotonic, registry } = deps
  const rates = createRates(monotonic)
  const calls = createCallsUnderWay(deps.gauges)
  const attempts = createAttempts(monotonic)
  const ownTurn = createOwnRequests(monotonic, deps.ownRequestsPerMinute)
  const absorbed = createAbsorbedCosts(monotonic, deps.absorbedCostPerHour)
  const counting = createRefusalCount(registry)
  const [countedRefusal, counted] = countRefusalsWith(counting)
  const holders = async (caller: LimitedCaller): Promise<readonly Holder[]> =>
    holdersOf(caller, (await facts.of(caller.tenantId)).limits)

  return {
    request: async (caller) => {
      counting(() => absorbed.check(sharerOf(caller)))
      const all = await holders(caller)
      return counting(() => rates.take(all))
    },
    call: async (caller, expectedTokens) => {
      counting(() => absorbed.check(sharerOf(caller)))
      const all = await holders(caller)
      if (all.length === 0) return undefined
      return counting(() =>
        reserveAll(
          () => calls.enter(all),
          () => rates.take(all, expectedTokens),
        ),
      )
    },
    query: (caller) => void counting(() => rates.take(queryHolders(caller))),
    attempt: (caller) => {
      // Settings that no request has read yet are no reason to read them: `request` and `call` do.
      const all = holdersOf(caller, facts.known(caller.tenantId).limits)
      return all.length === 0 ? undefined : counting(() => attempts.begin(all))
    },
    own: (sharer) => ownTurn(sharer)?.catch(countedRefusal),
    free: counted(createFreeRequests(monotonic, deps.freeRequestsPerMinute)),
    count: countedCounts(createTokenCounts(monotonic, deps.freeRequestsPerMinute), counting),
    refusedForms: counted(createRefusalBound(monotonic, deps.refusedFormsPerMinute)),
    absorbed: countedCosts(absorbed, counting),
    holdersOf: holders,
    statuses: (caller) =>
      holdersOf(caller, facts.known(caller.tenantId).limits)
        .map(rates.statuses)
        .reduce(tightest, {}),
    statusOf: (holder) => {
      return { holder, perMinute: rates.statuses(holder), calls: calls.of(holder.id) }
    },
    rates,
  }
}

function countedCosts(
  absorbed: AbsorbedCosts,
  counting: ReturnType<typeof createRefusalCount>,
): AbsorbedCosts {
  return {
    ...absorbed,
    reserve: (sharer, hold) => counting(() => absorbed.reserve(sharer, hold)),
  }
}

function countedCounts(
  take: TakeCount,
  counting: ReturnType<typeof createRefusalCount>,
): TakeCount {
  return (caller) => counting(() => take(caller))
}

/** Reserves limit after limit; after a refusal it releases its reservations. */
function reserveAll(...reserve: readonly (() => Reservation | undefined)[]): Reservation {
  const reserved = createReservations()
  try {
    for (const one of reserve) reserved.add(one())
    return reserved
  } catch (error) {
    reserved.release('not_started')
    throw error
  }
}

/** Runs the work and counts its refusals. */
function createRefusalCount(registry: Registry | undefined) {
  const refused = new Counter({
    name: 'tollgate_rate_limited_total',
    help: 'Requests refused at a limit, by limit and by its subject.',
    labelNames: ['limit', 'of'],
    registers: registry === undefined ? [] : [registry],
  })
  return <Result>(take: () => Result): Result => {
    try {
      return take()
    } catch (error) {
      if (isDomainError(error, 'rate_limited')) {
        const { limitedBy, whose } = error.details
        refused.inc({ limit: String(limitedBy), of: String(whose) })
      }
      throw error
    }
  }
}

/** Counts later refusals: errors, and requests that are not billed. */
function countRefusalsWith(counting: ReturnType<typeof createRefusalCount>) {
  const countedRefusal = (error: unknown): never =>
    counting(() => {
      throw error
    })
  const counted = (requests: FreeRequests): FreeRequests => ({
    ...requests,
    begin: (sharer) => requests.begin(sharer)?.catch(countedRefusal),
  })
  return [countedRefusal, counted] as const
}

function tightest(one: LimitStatuses, other: LimitStatuses): LimitStatuses {
  const tighter = (
    a: LimitStatus | undefined,
    b: LimitStatus | undefined,
  ): LimitStatus | undefined =>
    a === undefined || (b !== undefined && b.remaining < a.remaining) ? b : a
  return Object.fromEntries(
    measures.flatMap((measure) => {
      const status = tighter(one[measure], other[measure])
      return status === undefined ? [] : [[measure, status] as const]
    }),
  )
}

/** The token itself, if it has limits. */
export function ownHolder({ tokenId, limits }: LimitedCaller): readonly Holder[] {
  return limits === undefined ? [] : [{ whose: 'token', id: tokenId, limits }]
}

/**
 * The user of a token that calls no model, and its tenant, whatever their tokens: a user issues itself
 * any number of them. Queries and requests of accounts are counted separately.
 */
function queryHolders(caller: LimitedCaller): readonly Holder[] {
  const perMinute = caller.limits?.requestsPerMinute
  if (perMinute === undefined) return []
  const measured = caller.kind === 'query' ? 'queries' : 'accounts'
  return rateKeysOf(sharerOf(caller), perMinute).map(({ key, whose, limit }) => ({
    whose,
    id: `${measured}\n${key}`,
    limits: { ...noLimits, requestsPerMinute: limit },
  }))
}

/** The token, user and tenant that have limits. */
function holdersOf(caller: LimitedCaller, account: AccountLimits | undefined): readonly Holder[] {
  if (caller.kind !== 'model') return queryHolders(caller)
  const own = ownHolder(caller)
  if (account === undefined || account.limits.length === 0) return own
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
