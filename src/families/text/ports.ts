import type { LargestAnswer } from './rules/answer-size.ts'
import type { TextSeen } from './rules/measure.ts'
import type { JsonObject } from '../../kernel/json.ts'
import type { JsonText } from '../../kernel/json-text.ts'
import type { AnswerStream, CallOptions, Channel, ProviderError } from '../../app/ports/provider.ts'

/** The objects that upstream keeps and callers can refer to: a response, or an item of one. */
export type KeptKind = 'response' | 'item'

export interface TextRequest {
  /** External and upstream name. */
  readonly model: string
  readonly upstreamModel: string
  /** The id of the call, from which callers get the id of its answer. */
  readonly callId: string
  /** The caller's headers that go on as they came; those of the gateway replace them. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Settings of the channel, for those that only one wire has. */
  readonly settings?: Channel['settings']
  /** Upstream's body without `model`. */
  readonly body: Readonly<Record<string, unknown>>
  /** The body as the caller wrote it, with the caller's `model` and bounds. */
  readonly written?: JsonText | undefined
  /** Facts that bound the size of the answer. */
  readonly largest: LargestAnswer
  /**
   * The caller's id of something that upstream keeps: the same each time. `tokens` is the
   * conversation up to the end of a response, where its usage is known when it is first named.
   */
  readonly keptId: (kind: KeptKind, upstreamId: string, tokens?: number) => string
}

/** Why a delivered result is a failure: shown to the caller within it, never billed. */
interface TextFailure {
  readonly code: string
  readonly message: string
  /** The failure as it concerns the channel, if it does. */
  readonly error?: ProviderError
}

/** The received part of an answer so far. */
export interface TextTally extends TextSeen {
  readonly failure: TextFailure | undefined
}

/** An unstreamed answer, its model rewritten to the external name. */
export interface TextAnswer {
  /** An object, or the JSON text of one. */
  readonly body: JsonObject | string
  readonly upstreamRequestId: string | undefined
  /** No further call of this model is sent for this long: upstream's limit is used up. */
  readonly restMs: number | undefined
  /** Counts on demand: needed only if upstream reported no usage. */
  readonly tally: () => TextTally
}

/** One event of a stream, with the external model name. */
export interface TextChunk {
  readonly event: string | undefined
  readonly data: string
  /** Whether it has only usage, for callers who requested it. */
  readonly usageOnly: boolean
  /** Whether the event ends the result, or one of several alternatives: it is withheld until settled (P3). */
  readonly terminal: boolean
}

export type TextStream = AnswerStream<TextChunk, TextTally>

/** The adapter of a text family. */
export interface TextProvider {
  /** @throws ProviderError */
  readonly complete: (
    channel: Channel,
    request: TextRequest,
    options: CallOptions,
  ) => Promise<TextAnswer>
  /** Resolves when upstream has begun to answer. @throws ProviderError */
  readonly stream: (
    channel: Channel,
    request: TextRequest,
    options: CallOptions,
  ) => Promise<TextStream>
}

/** Counts of tokens that one channel is asked for at once by one process (P10). */
export const MAX_COUNTS_PER_CHANNEL = 32

/** Counts the tokens of prompts, for callers who ask before they call. */
export interface TokenCounter {
  /**
   * The provider's own answer, with its figure.
   * @param timeoutMs for the whole answer
   * @throws ProviderError
   */
  readonly count: (
    channel: Channel,
    request: TextRequest,
    options: CallOptions & { readonly timeoutMs: number },
  ) => Promise<JsonObject>
}
