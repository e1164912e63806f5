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

/** Audio as its caller gets it. */
export interface SpokenBody {
  /** `audio`: its bytes alone are wanted, where they are here. */
  readonly form: 'json' | 'audio'
  /** In hexadecimal, or a URL. */
  readonly audio: string | AsciiText
  readonly shown: JsonObject
}

export type CompletedSpeech = CompletedCall<SpokenBody>

export interface StreamedSpeech extends StreamedCall<string> {
  /** What its frames are: JSON, or audio in hexadecimal. */
  readonly form: SpokenBody['form']
}

/** Domain error codes: those of every call, and `voice_not_found`. */
export interface SpeechUseCases {
  readonly speak: (input: SpeechCallInput) => Promise<CompletedSpeech>
  /** Of a request that is `streamed`. */
  readonly stream: (input: SpeechCallInput) => Promise<StreamedSpeech>
}
