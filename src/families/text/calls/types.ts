import type { JsonObject } from '../../../kernel/json.ts'
import type { InputSize } from '../rules/estimate.ts'
import type { TextWireRules } from '../rules/wire.ts'
import type { ChannelDirectory } from '../../../app/channels/directory.ts'
import type { TextProvider } from '../ports.ts'
import type { CallInput } from '../../../app/calls/types.ts'
import type { KeptIds } from './kept-ids.ts'

/** What is asked of a wire of text, and what comes back; no HTTP here. */

export interface TextCallInput extends CallInput {
  /** The upstream body without `model`; streaming members are the provider's business. */
  readonly body: JsonObject
  /** What was sent in, for holds and estimates. */
  readonly inputSize: InputSize
}

/** What a wire of text stands on beside the road of every call. */
export interface TextDeps {
  readonly wire: TextWireRules
  readonly provider: TextProvider
  readonly channels: Pick<ChannelDirectory, 'byId' | 'serving'>
  readonly keptIds: KeptIds
}

/** A frame for the caller: `event` is the SSE event name where the family has one. */
export interface TextFrame {
  readonly event: string | undefined
  /** JSON text, model already rewritten. */
  readonly data: string
  /** Usage-only chunk of chat streams: for callers who asked for it. */
  readonly usageOnly: boolean
}
