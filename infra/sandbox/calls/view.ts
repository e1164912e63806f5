import { toTimestamp } from '../../../src/kernel/clock.ts'
import type { AcceptedCall, CallOutcome, CallUsage, Ending } from './store.ts'

/** An accepted call as `GET /__sandbox/calls` lists it. */
export interface CallView {
  readonly seq: number
  /** The id its answer bears. */
  readonly id: string
  readonly family: string
  /** As offered; answers bear a versioned name. */
  readonly model: string
  readonly requested_model: string
  readonly client_marker: string | null
  readonly safety_identifier: string | null
  readonly credential: string
  readonly accepted_at: string
  readonly stream: boolean
  readonly outcome: CallOutcome
  readonly fail_code: string | null
  /** `outcome` is not `failed`: this upstream charges for it. */
  readonly success: boolean
  /** What it reports, or would have reported. */
  readonly usage: CallUsage
  /** The same in the names of its wire. */
  readonly wire_usage: unknown
  /** Whether its final usage was handed to the connection. */
  readonly usage_sent: boolean
  /** Whether an error was sent in the midst of the stream. */
  readonly error_sent: boolean
  readonly tool_calls: Readonly<Record<string, number>>
  readonly pictures: AcceptedCall['facts']['pictures'] | null
  readonly http_status: number | null
  readonly frames_written: number
  readonly bytes_written: number
  /** The exchange is over. */
  readonly finished: boolean
  readonly ending: Ending | null
  readonly client_gone: boolean
  readonly ended_at: string | null
}

/** Renders one accepted call as of now. */
export function callView(call: AcceptedCall): CallView {
  const { facts } = call
  return {
    seq: call.seq,
    id: facts.id,
    family: facts.family,
    model: facts.model,
    requested_model: facts.requestedModel,
    client_marker: facts.clientMarker,
    safety_identifier: facts.safetyIdentifier,
    credential: facts.credential,
    accepted_at: toTimestamp(facts.acceptedAtMs),
    stream: facts.stream,
    outcome: facts.outcome,
    fail_code: facts.failCode,
    success: facts.outcome !== 'failed',
    usage: facts.usage,
    wire_usage: facts.wireUsage,
    usage_sent: call.usageSent,
    error_sent: call.errorSent,
    tool_calls: facts.toolCalls,
    pictures: facts.pictures ?? null,
    http_status: call.httpStatus,
    frames_written: call.frames,
    bytes_written: call.bytes,
    finished: call.ending !== null,
    ending: call.ending,
    client_gone: call.ending === 'client-gone',
    ended_at: call.endedAtMs === null ? null : toTimestamp(call.endedAtMs),
  }
}
