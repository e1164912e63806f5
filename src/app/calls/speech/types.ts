import type { SpeechRequest } from '../../../domain/families/speech/request.ts'
import type { AsciiText } from '../../../kernel/ascii-text.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { CallInput, CompletedCall, StreamedCall } from '../types.ts'

/** What the API asks of the synchronous use cases of speech, and what it gets back; no HTTP here. */

export interface SpeechCallInput extends CallInput {
  readonly request: SpeechRequest
  /** Whose voice it is, as upstream knows it, and the only account that has it. */
  readonly voice: { readonly voiceId: string; readonly channelId?: string }
}

/** Audio as its caller gets it: in hexadecimal or as a URL with what is said of it, or its bytes alone. */
export type SpokenBody =
  | { readonly form: 'json'; readonly audio: string | AsciiText; readonly shown: JsonObject }
  | { readonly form: 'audio'; readonly bytes: Uint8Array }

/** A piece of a stream: JSON text, or audio in hexadecimal. */
export interface SpeechFrame {
  readonly data: string
  /** It is the last. */
  readonly terminal: boolean
}

export type CompletedSpeech = CompletedCall<SpokenBody>

export interface StreamedSpeech extends StreamedCall<SpeechFrame> {
  /** What its frames are: JSON, or audio in hexadecimal. */
  readonly form: SpokenBody['form']
}

/** Domain error codes: those of every call, and `voice_not_found`. */
export interface SpeechUseCases {
  readonly speak: (input: SpeechCallInput) => Promise<CompletedSpeech>
  /** Of a request that is `streamed`. */
  readonly stream: (input: SpeechCallInput) => Promise<StreamedSpeech>
}
