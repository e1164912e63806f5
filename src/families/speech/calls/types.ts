import type { CloneRequest } from '../rules/clone-request.ts'
import type { SpeechRequest } from '../rules/request.ts'
import type { AsciiText } from '../../../kernel/ascii-text.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { CallInput } from '../../../app/calls/family.ts'

/** What is asked of speech and of clones, and what comes back; no HTTP here. */

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

export interface CloneInput extends CallInput {
  readonly request: CloneRequest
}

/** A voice that was cloned, as its caller gets to know. */
export interface Cloned {
  /** Why the sample is objectionable; undefined where it is not. */
  readonly inputSensitive: number | undefined
  /** Where the audition is to be heard. */
  readonly demoAudio: string | undefined
  /** Of the audition, where upstream says so. */
  readonly characters: number | undefined
}
