import type { TextFamily } from '../../domain/families/text/models.ts'
import type { Measurement, Settlement } from '../../domain/pricing/settlement.ts'
import type { Principal } from '../access/principal.ts'

/** What the API asks of the synchronous text use cases, and what it gets back; no HTTP here. */

export type { TextFamily }

export interface TextCallInput {
  readonly principal: Principal
  readonly family: TextFamily
  /** The interface the caller used, e.g. `v1.chat`; written into the settlement. */
  readonly surface: string
  readonly requestId: string
  /** External model name. */
  readonly model: string
  /** The upstream body without `model`; streaming members are the provider's business. */
  readonly body: Readonly<Record<string, unknown>>
  /**
   * Characters of text and bytes of inline media sent in, for holds and estimates; `textBytes` (the
   * text in UTF-8) makes estimates fairer to scripts other than Latin.
   */
  readonly inputSize: {
    readonly characters: number
    readonly mediaBytes: number
    readonly textBytes?: number
  }
  /** Aborts when the caller goes away; the upstream is drained all the same, within a bound. */
  readonly callerGone: AbortSignal
}

export interface CompletedCall {
  readonly callId: string
  /** The provider's answer, its model rewritten to the external name. */
  readonly body: Readonly<Record<string, unknown>>
  readonly settlement: Settlement
  readonly measurement: Measurement
}

/** A frame for the caller: `event` is the SSE event name where the family has one. */
export interface TextFrame {
  readonly event: string | undefined
  /** JSON text, model already rewritten. */
  readonly data: string
  /** Usage-only chunk of chat streams: for callers who asked for it. */
  readonly usageOnly: boolean
}

export interface StreamedCall {
  readonly callId: string
  /**
   * Frames as they come; terminal ones only after `CallSettled` is durable (P3). A failure after the
   * first frame is thrown as a `DomainError` for the surface to shape into a frame of its own.
   */
  readonly frames: AsyncIterable<TextFrame>
}

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
  readonly complete: (input: TextCallInput) => Promise<CompletedCall>
  readonly stream: (input: TextCallInput) => Promise<StreamedCall>
  /** External names the principal may use, with the families that serve them. */
  readonly listModels: (principal: Principal) => Promise<
    readonly {
      readonly id: string
      readonly createdAtMs: number
      readonly families: readonly string[]
    }[]
  >
}
