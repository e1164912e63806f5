import type { SpeechSeen } from './rules/rules.ts'
import type { RawString } from '../../kernel/raw-string.ts'
import type { JsonObject } from '../../kernel/json.ts'
import type { AnswerStream, CallOptions, Channel } from '../../app/ports/provider.ts'

/** A voice a tenant cloned, as upstream knows it. */
export interface ClonedVoice {
  readonly upstreamVoiceId: string
  /** The only account that has it. */
  readonly channelId: string
}

/** The voice that a tenant has cloned under this name; undefined if there is none. */
export type FindVoice = (tenantId: string, name: string) => Promise<ClonedVoice | undefined>

/** A request for speech as one channel gets it. */
export interface SpeechCall {
  readonly upstreamModel: string
  /** Upstream's body without the model. */
  readonly body: JsonObject
  /** Bytes of its audio at most. */
  readonly audioBytes: number
}

export interface SpeechAnswer {
  readonly upstreamRequestId: string | undefined
  /** No further call of this model is sent for this long: upstream's limit is used up. */
  readonly restMs: number | undefined
  /** In hexadecimal, or a URL of upstream's. */
  readonly audio: string | RawString
  /** Description for callers: its length, its size. */
  readonly shown: JsonObject
  readonly seen: SpeechSeen
}

/** A piece of a stream of speech. */
export interface SpeechChunk {
  /** JSON text for callers who want JSON, otherwise only the audio in hexadecimal. */
  readonly data: string
  /** The result is complete with this frame: it is withheld until settled (P3). */
  readonly terminal: boolean
}

/** The received part of a stream so far. */
export interface SpeechTally extends SpeechSeen {
  readonly finished: boolean
  readonly failure: undefined
}

type SpeechStream = AnswerStream<SpeechChunk, SpeechTally>

/** The adapter of synchronous speech. */
export interface SpeechProvider {
  /** @throws ProviderError */
  readonly speak: (
    channel: Channel,
    call: SpeechCall,
    options: CallOptions,
  ) => Promise<SpeechAnswer>
  /** Resolves when upstream has begun to answer. @throws ProviderError */
  readonly stream: (
    channel: Channel,
    call: SpeechCall,
    options: CallOptions,
  ) => Promise<SpeechStream>
}

/** A request for a clone of a voice, for one channel. */
export interface CloneOrder {
  readonly upstreamVoiceId: string
  /** Upstream's ids, in decimal: integers that a double cannot hold. */
  readonly upstreamFileId: string
  readonly promptUpstreamFileId: string | undefined
  readonly promptText: string | undefined
  readonly audition: { readonly upstreamModel: string; readonly text: string } | undefined
  /** Upstream's words for the rest. */
  readonly settings: JsonObject
}

export interface CloneAnswer {
  readonly upstreamRequestId: string | undefined
  /** No further clone is sent for this long: upstream's limit is used up. */
  readonly restMs: number | undefined
  /** Characters of the audition, where the provider says so. */
  readonly characters: number | undefined
  /** URL of the audition. */
  readonly demoAudio: string | undefined
  /** Why the sample is objectionable; undefined where it is not. */
  readonly inputSensitive: number | undefined
}

/** The adapter of voices that are cloned. */
export interface CloneProvider {
  /** @throws ProviderError */
  readonly clone: (
    channel: Channel,
    order: CloneOrder,
    options: CallOptions,
  ) => Promise<CloneAnswer>
}
