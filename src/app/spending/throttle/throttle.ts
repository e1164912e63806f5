import { Counter, type Registry } from 'prom-client'
import type { Clock } from '../../../kernel/clock.ts'
import { isDomainError } from '../../../kernel/errors.ts'
import type { AccountFacts } from '../../accounts/account-facts.ts'
import type { ReplicaGauges } from '../replica-gauges.ts'
import { createReservations, type Reservation } from '../reservation.ts'
import { createCallsUnderWay } from './concurrent-calls.ts'
import { type Holder, holdersOf, type LimitedCaller, ownHolder } from './holders.ts'
import { measures, type Standing } from './minute-use.ts'
import { createOwnRequests, type TakeTurn } from './own-requests.ts'
import { createRates, type Rates, type Standings } from './rates.ts'

/** The status of a holder's limits. */
export interface HolderStanding {
  readonly holder: Holder
  readonly perMinute: Standings
  /** Synchronous calls in flight. */
  readonly calls: number
}

/** Limits what tokens, users and tenants ask for. Without limits it costs two memory reads. */
export interface Throttle {
  /** Counts a request. @throws DomainError `rate_limited`, what the log throws */
  readonly request: (caller: LimitedCaller) => Promise<Reservation | undefined>
  /**
   * Counts a synchronous call: a request, its expected tokens, and a place until it ends.
   * @throws as `request`
   */
  readonly call: (
    caller: LimitedCaller,
    expectedTokens?: () => number,
  ) => Promise<Reservation | undefined>
  /** Counts a query of a token that calls no model. @throws DomainError `rate_limited` */
  readonly query: (caller: LimitedCaller) => void
  /** Waits for the turn of a read, a deletion, or a request that may be a retry. */
  readonly own: TakeTurn
  /** Every holder whose limits a request of a caller counts against. @throws what the log throws */
  readonly holdersOf: (caller: LimitedCaller) => Promise<readonly Holder[]>
  /** The status of the caller's tightest limits per minute, by what is known now. */
  readonly standings: (caller: LimitedCaller) => Standings
  readonly standingOf: (holder: Holder) => HolderStanding
  readonly rates: Pick<Rates, 'exchange'>
}

export function createThrottle(deps: {
  readonly facts: Pick<AccountFacts, 'of' | 'known'>
  readonly gauges: Pick<ReplicaGauges, 'ofKind'>
  readonly monotonic: Clock
  readonly ownRequestsPerMinute?: number | undefined
  readonly registry?: Registry
}): Throttle {
  const { facts, monotonic, registry } = deps
  const rates = createRates(monotonic)
  const calls = createCallsUnderWay(deps.gauges)
  const ownTurn = createOwnRequests(monotonic, deps.ownRequestsPerMinute)
  const counting = createRefusalCount(registry)
  const holders = async (caller: LimitedCaller): Promise<readonly Holder[]> =>
    holdersOf(caller, (await facts.of(caller.tenantId)).limits)

  return {
    request: async (caller) => {
      const all = await holders(caller)
      return counting(() => rates.take(all))
    },
    call: async (caller, expectedTokens) => {
      const all = await holders(caller)
      if (all.length === 0) return undefined
      return counting(() => {
        const reserved = createReservations()
        try {
          reserved.add(calls.enter(all))
          reserved.add(rates.take(all, expectedTokens))
          return reserved
        } catch (error) {
          reserved.release('not_started')
          throw error
        }
      })
    },
    query: (caller) => void counting(() => rates.take(ownHolder(caller))),
    own: (caller) =>
      ownTurn(caller)?.catch((error: unknown) =>
        counting(() => {
          throw error
        }),
      ),
    holdersOf: holders,
    standings: (caller) =>
      holdersOf(caller, facts.known(caller.tenantId).limits)
        .map(rates.standings)
        .reduce(tightest, {}),
    standingOf: (holder) => ({
      holder,
      perMinute: rates.standings(holder),
      calls: calls.of(holder.id),
    }),
    rates,
  }
}

/** Runs the work and counts its refusals. */
function createRefusalCount(registry: Registry | undefined) {
  const refused = new Counter({
    name: 'tollgate_rate_limited_total',
    help: 'Requests refused because somebody was at a limit, by limit and by whose it is.',
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

function tightest(one: Standings, other: Standings): Standings {
  const tighter = (a: Standing | undefined, b: Standing | undefined): Standing | undefined =>
    a === undefined || (b !== undefined && b.remaining < a.remaining) ? b : a
  return Object.fromEntries(
    measures.flatMap((measure) => {
      const standing = tighter(one[measure], other[measure])
      return standing === undefined ? [] : [[measure, standing] as const]
    }),
  )
}
