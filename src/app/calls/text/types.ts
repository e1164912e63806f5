import type { JsonObject } from '../../../kernel/json.ts'
import type { InputSize } from '../../../domain/families/text/estimate.ts'
import type { TextFamily } from '../../../domain/families/text/models.ts'
import type { Principal } from '../../access/principal.ts'
import type { CallInput, CompletedCall, StreamedCall } from '../types.ts'

/** What the API asks of the synchronous text use cases, and what it gets back; no HTTP here. */

export type { TextFamily }

export interface TextCallInput extends CallInput {
  readonly family: TextFamily
  /** The upstream body without `model`; streaming members are the provider's business. */
  readonly body: JsonObject
  /** What was sent in, for holds and estimates. */
  readonly inputSize: InputSize
}

/** Its body is the provider's answer, its model rewritten to the external name. */
export type CompletedTextCall = CompletedCall<JsonObject>

/** A frame for the caller: `event` is the SSE event name where the family has one. */
export interface TextFrame {
  readonly event: string | undefined
  /** JSON text, model already rewritten. */
  readonly data: string
  /** Usage-only chunk of chat streams: for callers who asked for it. */
  readonly usageOnly: boolean
}

export type StreamedTextCall = StreamedCall<TextFrame>

/**
 * Domain error codes: `unknown_model`, `model_not_allowed`, `price_not_configured`,
 * `insufficient_balance`, `no_channel`, `log_unavailable`, `call_refused` (details: kind, status,
 * upstreamCode, upstreamType, param, retryAfterMs), `upstream_unavailable`, `upstream_timeout`,
 * `upstream_malformed`, `rate_limited` (the token is at a limit of its own, details: limitedBy,
 * limit, retryAfterMs; or upstream is, as `call_refused`), `overloaded`,
 * `previous_response_not_found`, `kept_unavailable` (details: param). `details.callId` once the id
 * exists.
 */
export interface TextUseCases {
  readonly complete: (input: TextCallInput) => Promise<CompletedTextCall>
  readonly stream: (input: TextCallInput) => Promise<StreamedTextCall>
  /** External names the principal may use, with the families that serve them. */
  readonly listModels: (principal: Principal) => Promise<
    readonly {
      readonly id: string
      readonly createdAtMs: number
      readonly families: readonly string[]
    }[]
  >
}
