import { Counter, type Registry } from 'prom-client'
import type { Clock } from '../../kernel/clock.ts'
import { isDomainError } from '../../kernel/errors.ts'
import type { Limits } from './limits.ts'
import {
  type Measure,
  measures,
  perMinuteOf,
  type Standing,
  type Taken,
  TokenUse,
} from './token-use.ts'

/** Tokens remembered; the oldest that can be are forgotten first. */
const MAX_TOKENS = 20_000
/** Limits whose use is told in one go. */
const MAX_TOLD = 5_000

/** Use of one limit since it was last told to the other replicas. */
export interface Use {
  readonly tokenId: string
  readonly measure: Measure
  readonly perMinute: number
  /** Negative when more came back than was taken. */
  readonly used: number
}

/** What all replicas together use of a limit now. */
export type SharedUse = Omit<Use, 'perMinute'>
/** Tells and learns; a limit nobody ever told of is not answered. */
export type Share = (uses: readonly Use[]) => Promise<readonly SharedUse[]>

export interface Limited {
  readonly tokenId: string
  /** Undefined means none. */
  readonly limits: Limits | undefined
}
export type Standings = Readonly<Partial<Record<Measure, Standing>>>

/**
 * Requests and tokens per minute of every token. What is used is kept in memory and told to the
 * other replicas in the background (`sharing.ts`): no call waits for a database, and one of a token
 * without limits costs nothing.
 *
 * What counts is what was started. A request that is refused, for whatever reason, counts nothing.
 */
export interface Rates {
  /**
   * Takes a request and, where a function says how many are expected, its tokens; undefined where
   * nothing is limited. @throws DomainError `rate_limited`
   */
  readonly take: (who: Limited, expectedTokens?: () => number) => Taken | undefined
  /** How a token stands with those limits that it has. */
  readonly standings: (who: Limited) => Standings
  /** Tells what was used and learns what all used. @throws what `share` throws: told again then */
  readonly exchange: (share: Share) => Promise<void>
}

export function createRates(deps: { readonly clock: Clock; readonly registry?: Registry }): Rates {
  const { clock, registry } = deps
  const tokens = new Map<string, TokenUse>()
  const refused = new Counter({
    name: 'tollgate_rate_limited_total',
    help: 'Requests refused because their token was at its limit a minute, by limit.',
    labelNames: ['limit'],
    registers: registry === undefined ? [] : [registry],
  })

  const useOf = (tokenId: string, limits: Limits): TokenUse => {
    const known = tokens.get(tokenId)
    if (known !== undefined) return known
    if (tokens.size >= MAX_TOKENS) forgetOne(tokens)
    const made = new TokenUse(limits, clock)
    tokens.set(tokenId, made)
    return made
  }

  return {
    take: ({ tokenId, limits }, expectedTokens) => {
      if (limits === undefined) return undefined
      if (limits.requestsPerMinute === undefined && limits.tokensPerMinute === undefined)
        return undefined
      try {
        return useOf(tokenId, limits).take(limits, expectedTokens)
      } catch (error) {
        if (isDomainError(error)) refused.inc({ limit: String(error.details['limitedBy']) })
        throw error
      }
    },
    standings: ({ tokenId, limits }) => {
      const known = tokens.get(tokenId)
      return Object.fromEntries(
        measures.flatMap((measure) => {
          const limit = perMinuteOf(limits, measure)
          if (limit === undefined) return []
          return [[measure, known?.standing(measure, limit) ?? untouched(limit)] as const]
        }),
      )
    },
    exchange: async (share) => {
      const used = [...tokens].flatMap(([tokenId, use]) => {
        const limits = use.inUse()
        if (limits.length === 0 && !use.isOpen) tokens.delete(tokenId)
        return limits.map((limit) => ({ tokenId, ...limit }))
      })
      for (let at = 0; at < used.length; at += MAX_TOLD)
        await exchangeSome(used.slice(at, at + MAX_TOLD), share, clock)
    },
  }
}

type Told = { readonly tokenId: string } & ReturnType<TokenUse['inUse']>[number]

async function exchangeSome(some: readonly Told[], share: Share, clock: Clock): Promise<void> {
  const nowMs = clock.nowMs()
  const uses = some.map(({ tokenId, measure, perMinute, allowance }) => ({
    tokenId,
    measure,
    perMinute,
    used: allowance.tell(perMinute, nowMs),
  }))
  let shared: readonly SharedUse[]
  try {
    shared = await share(uses)
  } catch (error) {
    for (const [index, { allowance }] of some.entries()) allowance.untell(uses[index]?.used ?? 0)
    throw error
  }
  const learnt = new Map(shared.map((use) => [`${use.measure} ${use.tokenId}`, use.used]))
  for (const { tokenId, measure, allowance } of some) {
    const used = learnt.get(`${measure} ${tokenId}`)
    if (used !== undefined) allowance.learn(used, clock.nowMs())
  }
}

function untouched(limit: number): Standing {
  return { limit, remaining: limit, resetMs: 0 }
}

function forgetOne(tokens: Map<string, TokenUse>): void {
  for (const [tokenId, use] of tokens)
    if (!use.isOpen) {
      tokens.delete(tokenId)
      return
    }
}
