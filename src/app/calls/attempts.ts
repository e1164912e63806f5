import { DomainError } from '../../kernel/errors.ts'
import type { ChannelLease, ChannelOutcome } from '../channels/directory.ts'
import { type Channel, ProviderError, type TextProvider, type TextRequest } from '../ports.ts'
import type { AdmittedCall } from './call.ts'
import type { CallDeps } from './deps.ts'
import { failureOf, isNoteworthy, noteFailure } from './record.ts'

/** A channel that answered, still leased. */
export interface Attempt<Result> {
  readonly channel: Channel
  readonly lease: ChannelLease
  readonly result: Result
}

/**
 * Asks channel after channel until one answers. The next one is only asked when the last certainly
 * accepted nothing, so nothing is ever done twice for one call. A failure of a provider that was
 * reached is noted with its channel.
 *
 * @throws ProviderError of the last channel, DomainError `no_channel`, `kept_unavailable`,
 *   `rate_limited` or `overloaded`
 */
export async function attempt<Result extends { readonly restMs: number | undefined }>(
  deps: CallDeps,
  call: AdmittedCall,
  body: TextRequest['body'],
  ask: (provider: TextProvider, channel: Channel, request: TextRequest) => Promise<Result>,
): Promise<Attempt<Result>> {
  const { principal, family, model } = call.input
  const provider = deps.providers.get(family)
  if (provider === undefined) throw nobody(deps, call)
  const tried = new Set<string>()
  let last: { readonly channel: Channel; readonly error: ProviderError } | undefined
  while (tried.size < deps.limits.maxAttempts) {
    const lease = deps.channels.lease(call.wish, tried)
    if (lease === undefined) break
    const { channel } = lease
    tried.add(channel.id)
    try {
      const upstreamModel = channel.models[model] ?? model
      const keptId = deps.keptIds.namer(principal.tenantId, channel.id)
      const result = await ask(provider, channel, { model, upstreamModel, body, keptId })
      rest(deps, call, channel, result.restMs)
      return { channel, lease, result }
    } catch (error) {
      endAttempt(deps, call, lease, error)
      if (!(error instanceof ProviderError)) throw error
      last = { channel, error }
      if (!isWorthAnotherChannel(error)) break
    }
  }
  if (last === undefined) throw nobody(deps, call)
  if (isNoteworthy(last.error))
    noteFailure(
      deps,
      call,
      { channel: last.channel, upstreamRequestId: undefined },
      failureOf(last.error),
    )
  throw last.error
}

/** Gives the lease back and tells the breaker what happened; undefined means that it went well. */
export function endAttempt(
  deps: CallDeps,
  call: AdmittedCall,
  lease: ChannelLease,
  error: unknown,
): void {
  const outcome = outcomeOf(error)
  const { channel } = lease
  deps.metrics.attempts.inc({
    channel: channel.id,
    outcome: error instanceof ProviderError ? error.kind : outcome,
  })
  if (error instanceof ProviderError && error.kind === 'rate_limited')
    rest(deps, call, channel, error.retryAfterMs)
  lease.release(outcome)
}

function outcomeOf(error: unknown): ChannelOutcome {
  if (error === undefined) return 'success'
  if (!(error instanceof ProviderError)) return 'neutral'
  // A refusal that is the caller's fault still proves that the channel answers.
  if (error.kind === 'invalid') return 'success'
  return error.kind === 'rate_limited' ? 'neutral' : 'failure'
}

function rest(deps: CallDeps, call: AdmittedCall, channel: Channel, restMs?: number): void {
  if (restMs === undefined) return
  deps.channels.rest(channel.id, call.input.model, deps.clock.nowMs() + restMs)
}

function isWorthAnotherChannel(error: ProviderError): boolean {
  return error.acceptance === 'ruled_out' && error.kind !== 'invalid'
}

function nobody(deps: CallDeps, call: AdmittedCall): DomainError {
  const { callId, wish } = call
  const { model } = wish
  const ids = new Set(deps.channels.serving(wish).map((channel) => channel.id))
  const open = deps.channels.health().some(({ id, breaker }) => ids.has(id) && breaker === 'closed')
  const restingUntilMs = deps.channels.restingUntilMs(wish)
  if (restingUntilMs !== undefined)
    return new DomainError('rate_limited', 'The model service is at its limit.', {
      callId,
      kind: 'rate_limited',
      acceptance: 'ruled_out',
      retryAfterMs: restingUntilMs - deps.clock.nowMs(),
    })
  if (open)
    return new DomainError('overloaded', `every channel of ${model} is busy`, { callId, model })
  // Another channel would not know what the call continues from.
  const code = wish.channelId === undefined ? 'no_channel' : 'kept_unavailable'
  return new DomainError(code, `no channel of ${model} is available`, { callId, model })
}
