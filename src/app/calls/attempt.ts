import { sharerOf } from '../../domain/token/sharer.ts'
import { attempt, endAttempt, noChannelError, restChannel } from '../channels/attempt.ts'
import type { ChannelLease } from '../channels/directory.ts'
import { type Channel, ProviderError } from '../ports/provider.ts'
import type { AdmittedCall } from './family.ts'
import type { CallDeps } from './deps.ts'
import { callFailureOf, isNoteworthy, noteFailure } from './settle.ts'

/** The answer of a channel, with its lease still held. */
interface Attempt<Result> {
  readonly channel: Channel
  readonly lease: ChannelLease
  readonly result: Result
  /** Number of channels that were asked. */
  readonly attempts: number
}

/**
 * Finds a channel that answers an admitted call. When a provider was reached and failed, the
 * failure is recorded with its channel.
 *
 * @throws ProviderError of the last channel, DomainError `no_channel`, `kept_unavailable`,
 *   `rate_limited` or `overloaded`
 */
export async function attemptCall<Seen, Result extends { readonly restMs: number | undefined }>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  ask: (channel: Channel) => Promise<Result>,
): Promise<Attempt<Result>> {
  const { callId, channelQuery } = call
  const sharer = sharerOf(call.input.principal)
  const plan = {
    sharer,
    channelQuery,
    maxChannels: deps.limits.maxAttempts,
    onFailure: (channel: Channel, error: unknown) => countAttempt(deps, channel, error),
  }
  const answered = await attempt(deps, plan, ask)
  switch (answered.kind) {
    case 'untried':
      throw noChannelError(deps, sharer, channelQuery, { callId })
    case 'failed': {
      const { channel, error, attempts } = answered
      const served = { channel, upstreamRequestId: undefined, attempts }
      if (isNoteworthy(error)) noteFailure(deps, call, served, callFailureOf(error))
      throw error
    }
    case 'answered': {
      const { lease, result, attempts } = answered
      restChannel(deps, channelQuery, lease.channel, result.restMs)
      return { channel: lease.channel, lease, result, attempts }
    }
  }
}

/** Releases the lease of an answered call; undefined means that it ended well. */
export function endCallAttempt<Seen>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  lease: ChannelLease,
  error: unknown,
): void {
  countAttempt(deps, lease.channel, error)
  endAttempt(deps, call.channelQuery, lease, error)
}

function countAttempt({ metrics }: CallDeps, channel: Channel, error: unknown): void {
  metrics.attempts.inc({ channel: channel.id, outcome: outcomeOf(error) })
}

function outcomeOf(error: unknown): string {
  if (error === undefined) return 'success'
  return error instanceof ProviderError ? error.kind : 'neutral'
}
