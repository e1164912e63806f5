import { attemptsIn } from '../../domain/repeat-facts.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import type { Channel } from '../ports/provider.ts'
import type { AdmittedCall } from './family.ts'

/** Facts that every event of a call has, however it ended. */

/** The channel that answered a call. */
export interface AnsweringChannel {
  readonly channel: Channel
  readonly upstreamRequestId: string | undefined
  /** Number of channels that were asked, this one included. */
  readonly attempts: number
  /** Milliseconds from the request to the first frame of a stream; undefined: its caller got none. */
  readonly firstByteMs?: number | undefined
}

const MAX_ID_LENGTH = 200

/** The fields of every event of a call. */
export function factsOf<Seen>(call: AdmittedCall<Seen>, served: AnsweringChannel) {
  const { input } = call
  const { channel, upstreamRequestId, attempts, firstByteMs } = served
  return {
    callId: call.callId,
    surface: input.surface,
    tenantId: input.principal.tenantId,
    userId: input.principal.userId,
    tokenId: input.principal.tokenId,
    requestId: input.requestId,
    model: input.model,
    channelId: channel.id,
    upstreamModel: channel.models[input.model] ?? input.model,
    ...(upstreamRequestId === undefined
      ? {}
      : { upstreamRequestId: upstreamRequestId.slice(0, MAX_ID_LENGTH) }),
    stream: call.streamed,
    ...input.repeat,
    ...(call.claim === undefined ? {} : { idempotency: call.claim.idempotency }),
    ...attemptsIn(attempts),
    startedAt: toTimestamp(call.startedAtMs),
    // The clock may have been set back in between.
    ...(firstByteMs === undefined ? {} : { firstByteMs: Math.max(0, firstByteMs) }),
    ...call.labels,
  }
}

/** The metadata of every event of a call. */
export function metadataOf<Seen>(call: AdmittedCall<Seen>) {
  const { principal, requestId } = call.input
  return {
    correlationId: requestId,
    commandId: call.callId,
    tenantId: principal.tenantId,
    tokenId: principal.tokenId,
  }
}
