import { MAX_SPEECH_ANSWER_BYTES } from '../rules/audio-size.ts'
import { type SpeechRequest, withVoice } from '../rules/request.ts'
import { type PricedSpeech, speechCallRules, type SpeechSeen } from '../rules/rules.ts'
import type { RawString } from '../../../kernel/raw-string.ts'
import { decodeHex, looksLikeHex } from '../../../kernel/hex.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { inTurns } from '../../../kernel/turns.ts'
import { type Channel, ProviderError } from '../../../app/ports/provider.ts'
import { unknownVoice } from './voices.ts'
import type { SpeechCall, SpeechChunk, SpeechProvider, SpeechTally } from '../ports.ts'
import type { CallFamily, CallInput, StreamFamily } from '../../../app/calls/family.ts'
import { refusalOf } from '../../../app/channels/refusal.ts'
import { speechSettings } from '../settings.ts'
import type { CloneRequest } from '../rules/clone-request.ts'

export interface SpeechCallInput extends CallInput {
  readonly request: SpeechRequest
  /** Name of the voice upstream, and the only account that has it. */
  readonly voice: { readonly voiceId: string; readonly channelId?: string }
  /** The caller gets the bytes, whatever the form of the channel's answers. */
  readonly asBytes?: true
}

/**
 * Audio for the caller: in hexadecimal or as a URL, each with its description, or only its bytes.
 */
export type SpokenBody =
  | { readonly form: 'json'; readonly audio: string | RawString; readonly shown: JsonObject }
  | { readonly form: 'audio'; readonly bytes: Uint8Array }

/** A piece of a stream: JSON text, or audio in hexadecimal. */
export interface SpeechFrame {
  readonly data: string
  /** Whether the frame is the last. */
  readonly terminal: boolean
}

export interface CloneInput extends CallInput {
  readonly request: CloneRequest
}

/** A cloned voice for the caller. */
export interface Cloned {
  /** Why the sample is objectionable; undefined where it is not. */
  readonly inputSensitive: number | undefined
  /** URL of the audition. */
  readonly demoAudio: string | undefined
  /** The characters of the audition, if upstream reports them. */
  readonly characters: number | undefined
}

/** The request to upstream. */
type SpokenRequest = Pick<SpeechCall, 'body' | 'audioBytes'>

/** The bound on reading for a caller who disconnected: that of an unstreamed answer. */
const DRAIN_MAX_BYTES = MAX_SPEECH_ANSWER_BYTES
/** Upstream's code for a voice that it does not have. */
const NO_SUCH_VOICE = '2042'
/** Speech as a call; its request is the upstream body. */
export type SpeechCallFamily = CallFamily<SpeechCallInput, SpokenRequest, SpeechSeen, SpokenBody> &
  StreamFamily<SpeechCallInput, SpokenRequest, SpeechTally, SpeechChunk, SpeechFrame>

/** The form of a channel's answers for callers who ask for hexadecimal. */
export function answerFormOf(channel: Channel): SpokenBody['form'] {
  return speechSettings(channel).audioMode === 'hex' ? 'audio' : 'json'
}

export function createSpeechFamily(provider: SpeechProvider): SpeechCallFamily {
  return {
    resolve: ({ family, model, request, voice }) => {
      const priced: PricedSpeech = { model, facts: request.facts }
      const { voiceId, channelId } = voice
      return {
        request: { body: withVoice(request, voiceId), audioBytes: request.audioBytes },
        channelQuery: { family, model, ...(channelId === undefined ? {} : { channelId }) },
        expectedTokens: () => speechCallRules.expectedTokens(priced),
        price: (book) => speechCallRules.price(priced, book),
      }
    },
    ask: async (input, channel, request, options) => {
      const answer = await provider.speak(channel, callAt(input, channel, request), options)
      const { upstreamRequestId, restMs, seen, audio, shown } = answer
      const form = input.asBytes === true ? 'audio' : answerFormOf(channel)
      const body = () => spokenOf(audio, shown, input.request.delivery, form)
      return { body, upstreamRequestId, restMs, seen, failed: undefined }
    },
    open: (input, channel, body, options) =>
      provider.stream(channel, callAt(input, channel, body), options),
    // A caller who disconnects does not shorten the work upstream: the stream ends like a whole
    // answer.
    boundsOf: ({ timeoutMs }) => ({
      drainTimeoutMs: timeoutMs,
      drainMaxBytes: DRAIN_MAX_BYTES,
    }),
    frameOf: ({ data, terminal }) => ({ data, terminal }),
    refusal: (error, callId) =>
      error.code === NO_SUCH_VOICE ? unknownVoice({ callId }) : refusalOf(error, callId),
  }
}

/** Audio that cannot be played is no result; it is decoded in turns. @throws ProviderError */
async function spokenOf(
  audio: string | RawString,
  shown: JsonObject,
  delivery: SpeechRequest['delivery'],
  form: SpokenBody['form'],
): Promise<SpokenBody> {
  if (delivery === 'url') {
    if (!/^https?:\/\//.test(String(audio))) throw unreadable()
    return { form: 'json', audio, shown }
  }
  if (!looksLikeHex(audio)) throw unreadable()
  if (form === 'json') return { form, audio, shown }
  const bytes = await inTurns(decodeHex(audio))
  if (bytes === undefined) throw unreadable()
  return { form, bytes }
}

function unreadable(): ProviderError {
  return new ProviderError(
    'malformed',
    'certain',
    'The model service gave audio that cannot be read.',
  )
}

/** The request to one channel. */
function callAt({ model }: SpeechCallInput, channel: Channel, asked: SpokenRequest): SpeechCall {
  return { upstreamModel: channel.models[model] ?? model, ...asked }
}
