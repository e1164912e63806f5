import type { CallOptions, Channel } from '../../app/ports/provider.ts'
import type { JsonObject } from '../../kernel/json.ts'

/** A text to be spoken, as one channel gets it. */
export interface AudioCall {
  readonly upstreamModel: string
  /** Upstream's body without the model. */
  readonly body: JsonObject
}

export interface AudioAnswer {
  readonly upstreamRequestId: string | undefined
  /** No further call of this model is sent for this long: upstream's limit is used up. */
  readonly restMs: number | undefined
  readonly bytes: Uint8Array
}

/** The adapter of servers that answer audio. */
export interface AudioProvider {
  /** @throws ProviderError, also for an answer that is no audio */
  readonly speak: (channel: Channel, call: AudioCall, options: CallOptions) => Promise<AudioAnswer>
}
