import { DomainError } from '../../kernel/errors.ts'
import { unreachable } from '../../kernel/assert.ts'
import { type Channel, ProviderError } from '../ports/provider.ts'
import type { ChannelDirectory, ChannelLease, ChannelOutcome, ChannelWish } from './directory.ts'

/**
 * How a call or a creation finds a channel that takes it: one loop, and one meaning of what a
 * channel answers, whoever asks.
 */

export interface AttemptDeps {
  readonly channels: ChannelDirectory
}

export interface AttemptPlan {
  /** Which channels will do. */
  readonly wish: ChannelWish
  /** Channels tried at most, each only after the one before ruled acceptance out. */
  readonly maxChannels: number
  /** The first of them, where it had to be known before anything was sent. */
  readonly first?: ChannelLease
  /** Told of every channel that failed, with what it threw. */
  readonly onFailure: (channel: Channel, error: unknown) => void
}

export type Attempted<Result> =
  /** The lease is still held: `endAttempt` gives it back. */
  | { readonly kind: 'answered'; readonly lease: ChannelLease; readonly result: Result }
  /** No channel took it; this is how the last one failed. */
  | { readonly kind: 'failed'; readonly channel: Channel; readonly error: ProviderError }
  /** No channel could be asked at all. */
  | { readonly kind: 'untried' }

/**
 * Asks channel after channel until one answers. The next one is only asked when the last certainly
 * accepted nothing and the fault is not the caller's, so nothing is ever done twice (P5).
 *
 * @throws whatever `ask` throws that is no ProviderError
 */
export async function attempt<Result>(
  deps: AttemptDeps,
  plan: AttemptPlan,
  ask: (channel: Channel) => Promise<Result>,
): Promise<Attempted<Result>> {
  const { wish } = plan
  const tried = new Set<string>()
  let last: Attempted<Result> = { kind: 'untried' }
  let lease = plan.first ?? deps.channels.lease(wish)
  while (lease !== undefined) {
    const { channel } = lease
    tried.add(channel.id)
    try {
      return { kind: 'answered', lease, result: await ask(channel) }
    } catch (error) {
      endAttempt(deps, wish, lease, error)
      plan.onFailure(channel, error)
      if (!(error instanceof ProviderError)) throw error
      last = { kind: 'failed', channel, error }
      if (!isWorthAnotherChannel(error) || tried.size >= plan.maxChannels) break
    }
    lease = deps.channels.lease(wish, tried)
  }
  return last
}

/** Gives a lease back with what happened, and lets a busy channel rest; undefined went well. */
export function endAttempt(
  deps: AttemptDeps,
  wish: ChannelWish,
  lease: ChannelLease,
  error: unknown,
): void {
  if (error instanceof ProviderError && error.kind === 'rate_limited')
    restChannel(deps, wish, lease.channel, error.retryAfterMs)
  lease.release(outcomeOf(error))
}

/** Asks nothing more of this model there for so long. */
export function restChannel(
  { channels }: AttemptDeps,
  { model }: ChannelWish,
  channel: Channel,
  restMs: number | undefined,
): void {
  if (restMs !== undefined && model !== undefined) channels.rest(channel.id, model, restMs)
}

/** What an outcome says of the channel's health. */
function outcomeOf(error: unknown): ChannelOutcome {
  if (error === undefined) return 'success'
  if (!(error instanceof ProviderError)) return 'neutral'
  switch (error.kind) {
    // A refusal that is the caller's fault still proves that the channel answers.
    case 'invalid':
      return 'success'
    // A busy channel rests by model, and an account may lack one model only: neither must close the
    // channel for the others.
    case 'rate_limited':
    case 'account':
      return 'neutral'
    case 'unavailable':
    case 'timeout':
    case 'malformed':
      return 'failure'
    default:
      return unreachable(error.kind)
  }
}

function isWorthAnotherChannel(error: ProviderError): boolean {
  return error.acceptance === 'ruled_out' && error.kind !== 'invalid'
}

/**
 * Why no channel can be asked now: `rate_limited` while one rests, `overloaded` while one is merely
 * full, else `no_channel`, or `kept_unavailable` where another one would not know what the call
 * continues from.
 */
export function nobodyToAsk(
  { channels }: AttemptDeps,
  wish: ChannelWish,
  details: Readonly<Record<string, unknown>>,
): DomainError {
  const { model, family } = wish
  const restingForMs = channels.restingForMs(wish)
  if (restingForMs !== undefined)
    return new DomainError('rate_limited', 'The model service is at its limit.', {
      ...details,
      kind: 'rate_limited',
      acceptance: 'ruled_out',
      retryAfterMs: restingForMs,
    })
  const ids = new Set(channels.serving(wish).map((channel) => channel.id))
  const isFull = channels.health().some(({ id, breaker }) => ids.has(id) && breaker === 'closed')
  if (isFull)
    return new DomainError('overloaded', `every channel of ${model ?? family} is busy`, {
      ...details,
      model,
    })
  const code = wish.channelId === undefined ? 'no_channel' : 'kept_unavailable'
  return new DomainError(code, `no channel of ${model ?? family} is available`, {
    ...details,
    model,
  })
}
