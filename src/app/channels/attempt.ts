import { DomainError } from '../../kernel/errors.ts'
import { unreachable } from '../../kernel/assert.ts'
import type { Sharer } from '../../kernel/sharers.ts'
import { type Channel, ProviderError } from '../ports/provider.ts'
import type { ChannelDirectory, ChannelLease, ChannelQuery } from './directory.ts'
import type { ChannelOutcome } from './health.ts'

/**
 * Finds a channel that accepts a call or a creation: one loop with one interpretation of a
 * channel's answers, for every use case.
 */

interface AttemptDeps {
  readonly channels: ChannelDirectory
}

/** The dependencies of finding out why no channel is available. */
export interface AvailableDeps {
  readonly channels: Pick<ChannelDirectory, 'restingForMs' | 'isMerelyFull'>
}

export interface AttemptPlan {
  /** For whom it is made. */
  readonly sharer: Sharer
  /** The channels that qualify. */
  readonly channelQuery: ChannelQuery
  /** Most channels tried, each only if the one before ruled out acceptance. */
  readonly maxChannels: number
  /** The first of them, if it had to be known before anything was sent. */
  readonly first?: ChannelLease
  /** Called with every channel that failed, and its error. */
  readonly onFailure: (channel: Channel, error: unknown) => void
}

type Attempted<Result> =
  /** The lease is still held: `endAttempt` releases it. */
  | {
      readonly kind: 'answered'
      readonly lease: ChannelLease
      readonly result: Result
      /** Number of channels that were asked. */
      readonly attempts: number
    }
  /** No channel accepted it; this is the failure of the last one. */
  | {
      readonly kind: 'failed'
      readonly channel: Channel
      readonly error: ProviderError
      readonly attempts: number
    }
  /** No channel was available. */
  | { readonly kind: 'untried' }

/**
 * Asks channel after channel until one answers. The next one is asked only if the last certainly
 * accepted nothing and the caller is not at fault, so that no work is done twice (P5).
 *
 * @throws any error of `ask` that is no ProviderError
 */
export async function attempt<Result>(
  deps: AttemptDeps,
  plan: AttemptPlan,
  ask: (channel: Channel) => Promise<Result>,
): Promise<Attempted<Result>> {
  const { sharer, channelQuery } = plan
  const tried = new Set<string>()
  let last: Attempted<Result> = { kind: 'untried' }
  let lease = plan.first ?? deps.channels.lease(sharer, channelQuery)
  while (lease !== undefined) {
    const { channel } = lease
    tried.add(channel.id)
    try {
      const result = await ask(channel)
      return { kind: 'answered', lease, result, attempts: tried.size }
    } catch (error) {
      release(deps, channelQuery, lease, { error, hasBegun: false })
      plan.onFailure(channel, error)
      if (!(error instanceof ProviderError)) throw error
      last = { kind: 'failed', channel, error, attempts: tried.size }
      if (!isWorthAnotherChannel(error) || tried.size >= plan.maxChannels) break
    }
    lease = deps.channels.lease(sharer, channelQuery, tried)
  }
  return last
}

/** Releases the lease of an answer; an undefined error means success. */
export function endAttempt(
  deps: AttemptDeps,
  channelQuery: ChannelQuery,
  lease: ChannelLease,
  error: unknown,
): void {
  release(deps, channelQuery, lease, { error, hasBegun: true })
}

/** Releases a lease with its outcome, and lets a busy channel rest. */
function release(
  { channels }: AttemptDeps,
  { model }: ChannelQuery,
  { channel, sharer, release }: ChannelLease,
  { error, hasBegun }: { readonly error: unknown; readonly hasBegun: boolean },
): void {
  const restMs =
    error instanceof ProviderError && error.kind === 'rate_limited' ? error.retryAfterMs : undefined
  if (restMs !== undefined && model !== undefined)
    channels.restFor(sharer, channel.id, model, restMs)
  const outcome = outcomeOf(error)
  if (error instanceof ProviderError && error.kind === 'account')
    channels.refusals.refused(channel.id, model, error)
  else if (outcome === 'success') channels.refusals.worked(channel.id, model)
  const failure = error instanceof ProviderError && isOfChannel(error) ? error : undefined
  release(hasBegun && outcome === 'failure' ? 'broken_answer' : outcome, failure)
}

/** Whether operators see an error as a failure of the channel: neither the caller nor the gateway caused it. */
function isOfChannel({ kind, endedByGateway }: ProviderError): boolean {
  return kind !== 'invalid' && !endedByGateway
}

/** Starts no calls of this model on the channel for this long. */
export function restChannel(
  { channels }: AttemptDeps,
  { model }: ChannelQuery,
  channel: Channel,
  restMs: number | undefined,
): void {
  if (restMs !== undefined && model !== undefined) channels.rest(channel.id, model, restMs)
}

/** The effect of an outcome on the channel's health. */
function outcomeOf(error: unknown): ChannelOutcome {
  if (error === undefined) return 'success'
  if (!(error instanceof ProviderError) || error.endedByGateway) return 'neutral'
  switch (error.kind) {
    // Caused by the caller: it may come from before the model, and proves little.
    case 'invalid':
    // A busy channel rests by model, and an account may lack only one model: neither may close the
    // channel for other models.
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
 * Why no channel is available now: `rate_limited` while one rests, `overloaded` while one is merely
 * full, else `no_channel`, or `kept_unavailable` when other channels do not have the response that
 * the call continues.
 */
export function noChannelError(
  { channels }: AvailableDeps,
  sharer: Sharer,
  channelQuery: ChannelQuery,
  details: Readonly<Record<string, unknown>>,
): DomainError {
  const { model, family } = channelQuery
  const restingForMs = channels.restingForMs(sharer, channelQuery)
  if (restingForMs !== undefined)
    return new DomainError('rate_limited', 'The model service is at its limit.', {
      ...details,
      kind: 'rate_limited',
      acceptance: 'ruled_out',
      retryAfterMs: restingForMs,
    })
  if (channels.isMerelyFull(sharer, channelQuery))
    return new DomainError('overloaded', `every channel of ${model ?? family} is busy`, {
      ...details,
      model,
    })
  const code = channelQuery.channelId === undefined ? 'no_channel' : 'kept_unavailable'
  return new DomainError(code, `no channel of ${model ?? family} is available`, {
    ...details,
    model,
  })
}
