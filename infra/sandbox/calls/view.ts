import { toTimestamp } from '../../../src/kernel/clock.ts'
import type { AcceptedCall } from './store.ts'

/** An accepted call as `GET /__sandbox/calls` lists it. */
export type CallView = Readonly<ReturnType<typeof callView>>

/** An accepted call as of now. */
export function callView(call: AcceptedCall) {
  const { facts } = call
  return {
    seq: call.seq,
    /** The id its answer bears. */
    id: facts.id,
    family: facts.family,
    /** As offered; answers bear a versioned name. */
    model: facts.model,
    requested_model: facts.requestedModel,
    client_marker: facts.clientMarker,
    safety_identifier: facts.safetyIdentifier,
    credential: facts.credential,
    accepted_at: toTimestamp(facts.acceptedAtMs),
    stream: facts.stream,
    outcome: facts.outcome,
    fail_code: facts.failCode,
    /** `outcome` is not `failed`: this upstream charges for it. */
    success: facts.outcome !== 'failed',
    /** What it reports, or would have reported. */
    usage: facts.usage,
    /** The same in the names of its wire. */
    wire_usage: facts.wireUsage,
    /** Whether its final usage was handed to the connection. */
    usage_sent: call.usageSent,
    /** Whether an error was sent in the midst of the stream. */
    error_sent: call.errorSent,
    tool_calls: facts.toolCalls,
    pictures: facts.pictures ?? null,
    http_status: call.httpStatus,
    frames_written: call.frames,
    bytes_written: call.bytes,
    /** The exchange is over. */
    finished: call.ending !== null,
    ending: call.ending,
    client_gone: call.ending === 'client-gone',
    ended_at: call.endedAtMs === null ? null : toTimestamp(call.endedAtMs),
  }
}
