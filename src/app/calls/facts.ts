import { toTimestamp } from '../../kernel/clock.ts'
import type { Channel } from '../ports/provider.ts'
import type { AdmittedCall } from './answer-call.ts'

/** Where a call was answered. */
export interface Served {
  readonly channel: Channel
  readonly upstreamRequestId: string | undefined
}

const MAX_ID_LENGTH = 200

/** What every event of a call says of it. */
export function factsOf<Seen>(call: AdmittedCall<Seen>, served: Served) {
  const { input } = call
  const { channel, upstreamRequestId } = served
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
    startedAt: toTimestamp(call.startedAtMs),
  }
}

export function metadataOf<Seen>(call: AdmittedCall<Seen>) {
  const { principal, requestId } = call.input
  return {
    correlationId: requestId,
    commandId: call.callId,
    tenantId: principal.tenantId,
    tokenId: principal.tokenId,
  }
}
