import { type Static, Type } from 'typebox'
import { Buffer } from 'node:buffer'
import { callExamples, callFailures } from '../../../api/kit/call-failures.ts'
import { answerWhole, callSurface } from '../../../api/kit/calls.ts'
import type { Surface } from '../../../api/kit/surface.ts'
import { describe } from '../../../api/v1/documentation.ts'
import { v1 } from '../../../api/v1/mount.ts'
import type { PricingInput } from '../../../app/calls/family.ts'
import { inMembersOfCaller } from '../../../domain/catalog/simple-video.ts'
import { invariant } from '../../../kernel/assert.ts'
import { NotBlank, readBody, RefusedMember } from '../../../kernel/body.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import { isJsonObject, type JsonObject, membersGiven } from '../../../kernel/json.ts'
import type { SpeechCalls } from '../calls/clone.ts'
import type { SpeechCallFamily, SpeechCallInput } from '../calls/family.ts'
import { audioFormats, MAX_NAME, MAX_TEXT, voice } from '../rules/body.ts'
import { readSpeech, type SpeechRequest } from '../rules/request.ts'
import { SPEECH } from '../rules/rules.ts'
import { speechModels } from '../rules/voices.ts'
import { mediaTypes } from './speech.ts'

/** Speech on the wire of official clients: a text becomes the bytes of a file. */

const BodySchema = Type.Object(
  {
    model: Type.String({
      ...NotBlank,
      maxLength: MAX_NAME,
      documented: Type.Enum(speechModels.map(({ name }) => name)),
    }),
    input: Type.String({
      ...NotBlank,
      maxLength: MAX_TEXT.call,
      description: 'The text to speak, of fewer than 10000 characters.',
    }),
    voice: Type.Unsafe<string | { readonly id: string }>({
      check: (value: unknown) =>
        nameOf(value) === undefined
          ? 'must be the name of a voice, or an object with its `id`'
          : undefined,
      documented: Type.String({
        maxLength: MAX_NAME,
        description:
          'A built-in voice, an alias (`alloy`, `echo`, …), or a cloned voice of the tenant; also as `{"id": "…"}`.',
      }),
    }),
    response_format: Type.Optional(
      Type.Enum([...audioFormats], {
        default: 'mp3',
        description: '`pcm` has 24000 samples a second.',
      }),
    ),
    speed: voice.speed,
    stream_format: Type.Optional(
      Type.Enum(['audio'], { description: 'Only the bytes of the audio are offered.' }),
    ),
    instructions: RefusedMember('is not offered: the voice and its `speed` are what can be chosen'),
  },
  {
    named: 'SpeechRequest',
    additionalProperties: true,
    examples: [{ model: 'speech-2.8-hd', input: 'Good morning.', voice: 'nova' }],
  },
)

/** Official clients play `pcm` at this rate. */
const PCM_SAMPLE_RATE = 24_000

function nameOf(given: unknown): string | undefined {
  const name: unknown = isJsonObject(given) ? given['id'] : given
  return typeof name === 'string' && name !== '' && name.length <= MAX_NAME ? name : undefined
}

/** The members of this body by the names of the family's own. */
const ownNames: Readonly<Record<string, string>> = {
  text: 'input',
  voice_id: 'voice',
  audio_setting: 'response_format',
  'audio_setting.format': 'response_format',
}

/** @throws DomainError `invalid_request`, naming the member, and `unknown_model` */
function readAudio(sent: JsonObject): SpeechRequest {
  const body: Static<typeof BodySchema> = readBody(BodySchema, sent)
  const { model, input, response_format: format = 'mp3', speed } = body
  const rate = format === 'pcm' ? { sample_rate: PCM_SAMPLE_RATE } : {}
  return inMembersOfCaller(
    (param) => ownNames[param],
    () =>
      readSpeech(
        membersGiven<unknown>({
          model,
          text: input,
          voice_id: nameOf(body.voice),
          speed,
          audio_setting: { format, ...rate },
        }),
        'call',
      ),
  )
}

/** A voice that cannot be used is a wrong member on this wire. */
function inVoice(error: unknown): unknown {
  if (!isDomainError(error, 'voice_not_found')) return error
  const words = '`voice` names no voice that can be used here'
  return new DomainError('invalid_request', words, { ...error.details, param: 'voice' })
}

type AudioInput = PricingInput<SpeechCallInput>

/** `POST /v1/audio/speech`. */
export function audioSurface({ speech, resolveVoice }: SpeechCalls): Surface {
  const family: SpeechCallFamily = {
    ...speech,
    refusal: (error, callId) => {
      const refused = speech.refusal(error, callId)
      const named = inVoice(refused)
      return isDomainError(named) ? named : refused
    },
  }
  return callSurface(v1, {
    path: '/audio/speech',
    name: 'v1.speech',
    body: BodySchema,
    documented: describe({
      tag: 'Speech',
      operationId: 'createAudioSpeech',
      summary: 'Speak a text, as the bytes of a file',
      isCall: true,
      ok: undefined,
      files: Object.fromEntries(
        Object.entries(mediaTypes).map(([format, type]) => [type, `The audio, as ${format}.`]),
      ),
      failures: [...callFailures, 'kept_unavailable'],
      further: callExamples('input'),
    }),
    accept: async (body, asked): Promise<{ readonly input: AudioInput }> => {
      const request = readAudio(body)
      const { tenantId } = asked.by.principal
      const voice = await resolveVoice(tenantId, request.voiceId).catch((error: unknown) => {
        throw inVoice(error)
      })
      const input = { ...asked.by, family: SPEECH, model: request.model, request, voice }
      return { input: { ...input, asBytes: true } }
    },
    open: ({ calls }) => ({
      family,
      answer: async ({ input }, _request, reply) => {
        const body = await answerWhole(calls, family, input, reply)
        invariant(body.form === 'audio', 'its bytes were asked for')
        return reply.type(mediaTypes[input.request.format]).send(Buffer.from(body.bytes))
      },
    }),
  })
}
