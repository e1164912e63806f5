import { resolveCall } from '../../../app/calls/answer-call.ts'
import type { PricingInput } from '../../../app/calls/family.ts'
import { noChannelError } from '../../../app/channels/attempt.ts'
import type { ChannelDirectory } from '../../../app/channels/directory.ts'
import {
  type CallOptions,
  type Channel,
  OVERLOADED_STATUS,
  ProviderError,
} from '../../../app/ports/provider.ts'
import { sharerOf } from '../../../domain/token/sharer.ts'
import { monotonicClock } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { type Sharer, SharedUse, sharesOf } from '../../../kernel/sharers.ts'
import { MAX_COUNTS_PER_CHANNEL, type TokenCounter } from '../ports.ts'
import { textSettings } from '../settings.ts'
import { createTextFamily, requestAt } from './family.ts'
import { type TextCallInput, type TextDeps, textRefusal } from './types.ts'

/** The time of one count, for all providers that are asked. */
const TIMEOUT_MS = 10_000
/** Providers asked for one count. */
const MAX_CHANNELS = 3
/** Statuses by which a service says that it does not count. */
const NOT_COUNTED: readonly unknown[] = [404, 405, 501]

/** Dependencies of counting the tokens of a wire's prompts. */
export interface CountDeps extends TextDeps {
  readonly counter: TokenCounter
  readonly places: CountPlaces
  readonly channels: Pick<
    ChannelDirectory,
    'byId' | 'serving' | 'choose' | 'restingForMs' | 'isMerelyFull'
  >
  readonly timeoutMs?: number
}

/** The count of a prompt: its body as the call would have it. */
type CountInput = PricingInput<TextCallInput>

/**
 * Counts the tokens of a prompt by the figure of the provider that would serve the call; undefined
 * where that provider counts none. It is free: nothing is reserved and nothing is recorded.
 */
export type CountTokens = (
  input: CountInput,
  options: CallOptions,
) => Promise<JsonObject | undefined>

/**
 * Another provider is asked only where calls would go there, too, or where the first one failed.
 * @throws DomainError as the call would for its body and its model; `no_channel`, `overloaded`, and
 *   those of a provider's failure
 */
export function createTokenCount(deps: CountDeps): CountTokens {
  const { counter, places, channels, timeoutMs = TIMEOUT_MS } = deps
  const family = createTextFamily(deps)
  return async (input, options) => {
    const { request: asked, channelQuery } = resolveCall(deps, family, input)
    const sharer = sharerOf(input.principal)
    const untilMs = monotonicClock.nowMs() + timeoutMs
    const tried = new Set<string>()
    let failure: ProviderError | undefined
    while (tried.size < MAX_CHANNELS) {
      const channel = channels.choose(sharer, channelQuery, tried)
      if (channel === undefined) break
      if (textSettings(channel).countsTokens === false) return undefined
      tried.add(channel.id)
      const leave = places.enter(channel, sharer)
      try {
        // No answer of a count has an id.
        const request = requestAt(deps, input, channel, { ...asked, callId: '' })
        const leftMs = Math.max(1, untilMs - monotonicClock.nowMs())
        return await counter.count(channel, request, { ...options, timeoutMs: leftMs })
      } catch (error) {
        if (!(error instanceof ProviderError)) throw error
        if (error.kind !== 'invalid' && NOT_COUNTED.includes(error.status)) return undefined
        failure = error
        if (!isWorthAnother(error)) break
      } finally {
        leave()
      }
    }
    if (failure === undefined) throw noChannelError(deps, sharer, channelQuery, {})
    throw refused(failure)
  }
}

/** A count changes nothing, so it may be made twice; the time that is left is one for all. */
function isWorthAnother({ kind }: ProviderError): boolean {
  return kind !== 'invalid' && kind !== 'timeout'
}

/** Nothing is billed, so a request without an answer may be sent again. */
function refused(error: ProviderError): DomainError {
  const { code, message, details } = textRefusal(error)
  const isOverloaded = error.kind === 'unavailable' && error.status === OVERLOADED_STATUS
  return new DomainError(isOverloaded ? 'upstream_overloaded' : code, message, {
    ...details,
    acceptance: 'ruled_out',
  })
}

/** The places for counts at each channel, with the shares of users and tenants (P10). */
export interface CountPlaces {
  /** Takes a place; the result gives it back. @throws DomainError `overloaded` */
  readonly enter: (channel: Channel, sharer: Sharer) => () => void
}

/** Makes the places that all routes of a wire share. */
export function createCountPlaces(max = MAX_COUNTS_PER_CHANNEL): CountPlaces {
  const channels = new Map<string, { readonly shared: SharedUse; running: number }>()
  return {
    enter: ({ id }, sharer) => {
      const places = channels.get(id) ?? { shared: new SharedUse(sharesOf(max)), running: 0 }
      channels.set(id, places)
      if (places.running >= max || !places.shared.fits(sharer))
        throw new DomainError('overloaded', 'too many requests are counting tokens', {})
      places.running += 1
      places.shared.add(sharer)
      return () => {
        places.running -= 1
        places.shared.add(sharer, -1)
      }
    },
  }
}
