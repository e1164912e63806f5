import { type Static, Type } from 'typebox'
import { Buffer } from 'node:buffer'
import {
  mediaTypes,
  type Speaker,
  type SpeechOrder,
  type SpokenCall,
  type SpokenSeen,
} from '../../app/calls/speaker.ts'
import { audioFormats } from '../../domain/catalog/audio-formats.ts'
import type { CallInput, PricingInput, ResolvedCall } from '../../app/calls/family.ts'
import type { Channel } from '../../app/ports/provider.ts'
import { NotBlank, readBody, RefusedMember } from '../../kernel/body.ts'
import { DomainError } from '../../kernel/errors.ts'
import { isJsonObject, type JsonObject } from '../../kernel/json.ts'
import { callExamples, callFailures } from '../kit/failures/call-failures.ts'
import { answerWhole, callSurface } from '../kit/routes/calls.ts'
import type { Surface } from '../kit/routes/surface.ts'
import { describeV1 } from './documentation.ts'
import { v1 } from './mount.ts'

/** Speech on the wire of official clients: a text becomes the bytes of a file, whichever family speaks it. */

const MAX_NAME = 256
/** A text has fewer than ten thousand characters. */
const MAX_INPUT = 9_999

const bodySchema = (speakers: readonly Speaker[]) =>
  Type.Object(
    {
      model: Type.String({ ...NotBlank, maxLength: MAX_NAME }),
      input: Type.String({
        ...NotBlank,
        maxLength: MAX_INPUT,
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
            'A voice of the model, or, of models that clone voices, a cloned voice of the tenant; also as `{"id": "…"}`.',
        }),
      }),
      response_format: Type.Optional(
        Type.Enum([...audioFormats], {
          default: 'mp3',
          description: '`pcm` has 24000 samples a second.',
        }),
      ),
      speed: Type.Optional(Type.Number({ minimum: 0.5, maximum: 2 })),
      stream_format: Type.Optional(
        Type.Enum(['audio'], { description: 'Only the bytes of the audio are offered.' }),
      ),
      instructions: RefusedMember(
        'is not offered: the voice and its `speed` are what can be chosen',
      ),
    },
    {
      named: 'SpeechRequest',
      additionalProperties: true,
      examples: speakers.map(({ example }) => ({ ...example, input: 'Good morning.' })).slice(0, 1),
    },
  )

function nameOf(given: unknown): string | undefined {
  const name: unknown = isJsonObject(given) ? given['id'] : given
  return typeof name === 'string' && name !== '' && name.length <= MAX_NAME ? name : undefined
}

type Schema = ReturnType<typeof bodySchema>

/** @throws DomainError `invalid_request`, naming the member */
function readOrder(schema: Schema, sent: JsonObject): SpeechOrder {
  const body: Static<Schema> = readBody(schema, sent)
  const { model, input: text, voice, response_format: format = 'mp3', speed } = body
  return {
    model,
    text,
    voice: { name: nameOf(voice) ?? '', byId: isJsonObject(voice) },
    format,
    speed,
  }
}

interface SpeechInput extends CallInput {
  readonly spoken: SpokenCall
}

/** `POST /v1/audio/speech`, for all families that speak. */
export function audioSurface(speakers: readonly Speaker[]): Surface {
  const body = bodySchema(speakers)
  const resolve = (
    input: PricingInput<SpeechInput>,
    serving: readonly Channel[],
  ): ResolvedCall<undefined, SpokenSeen> => input.spoken.calls.resolve(input, serving)
  return callSurface(v1, {
    path: '/audio/speech',
    name: 'v1.speech',
    body,
    documented: describeV1({
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
    accept: async (sent, asked) => {
      const order = readOrder(body, sent)
      const { model, format } = order
      const speaker = speakers.find(({ knows }) => knows(model))
      if (speaker === undefined)
        throw new DomainError('unknown_model', `the model ${model} does not speak`, { model })
      const spoken = await speaker.read(order, asked.by.principal.tenantId)
      return { input: { ...asked.by, family: spoken.family, model, spoken }, format }
    },
    open: ({ calls }) => ({
      family: { resolve },
      answer: async ({ input, format }, _request, reply) => {
        const bytes = await answerWhole(calls, input.spoken.calls, input, reply)
        return reply.type(mediaTypes[format]).send(Buffer.from(bytes))
      },
    }),
  })
}
