import { Type } from 'typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import {
  answerStream,
  answerWhole,
  callerGone,
  callSurface,
} from '../../../api/kit/routes/calls.ts'
import { costInLastFrame, withCost } from '../../../api/kit/answers/answer-headers.ts'
import { oneLine, type StreamDialect } from '../../../api/kit/answers/event-stream.ts'
import { sendInPieces } from '../../../api/kit/answers/json-in-pieces.ts'
import type { Services } from '../../../api/kit/services.ts'
import type { Mount, Surface } from '../../../api/kit/routes/surface.ts'
import type { PricingInput } from '../../../app/calls/family.ts'
import { mediaTypes } from '../../../app/calls/speaker.ts'
import { DomainError } from '../../../kernel/errors.ts'
import {
  answerFormOf,
  type SpeechCallFamily,
  type SpeechCallInput,
  type SpeechFrame,
} from '../calls/family.ts'
import type { SpeechCalls } from '../calls/clone.ts'
import { speechBodies } from '../rules/body.ts'
import { readSpeech } from '../rules/request.ts'
import { SPEECH } from '../rules/rules.ts'
import {
  callFailures,
  describeSpeech,
  failureFrame,
  succeeded,
  BaseRespSchema,
  TraceId,
} from './envelope.ts'
import { owned } from '../../../platform/owned.ts'

const Info = Type.Object(
  {
    audio_length: Type.Optional(Type.Integer({ description: 'Milliseconds.' })),
    audio_sample_rate: Type.Optional(Type.Integer()),
    audio_size: Type.Optional(Type.Integer()),
    bitrate: Type.Optional(Type.Integer()),
    audio_format: Type.Optional(Type.String()),
    audio_channel: Type.Optional(Type.Integer()),
    usage_characters: Type.Optional(
      Type.Integer({ description: 'Billed characters; a Chinese character counts as two.' }),
    ),
  },
  { additionalProperties: true },
)

const SpokenSchema = Type.Object({
  data: Type.Object({
    audio: Type.String({ description: 'Hexadecimal, or a URL that is valid for 24 hours.' }),
    status: Type.Integer({ description: '2: the audio is complete.' }),
  }),
  extra_info: Type.Optional(Info),
  trace_id: TraceId,
  base_resp: BaseRespSchema,
})

/** Refused where it is left out. */
export const missingText = new DomainError('invalid_request', '`text` is required', {
  param: 'text',
})

/** Synchronous speech. */
export const speechCall = (mount: Mount, { speech, resolveVoice }: SpeechCalls): Surface =>
  callSurface(mount, {
    path: '/t2a_v2',
    name: 'provB.speech',
    body: speechBodies.call,
    documented: describeSpeech({
      tag: 'Speech',
      operationId: 'createSpeech',
      summary: 'Speak a text',
      costs: true,
      ok: SpokenSchema,
      others: {
        ...Object.fromEntries(
          Object.values(mediaTypes).map((type) => [
            type,
            'The bytes of the audio, from an account that answers with audio instead of JSON.',
          ]),
        ),
        'text/event-stream': 'With `stream`: parts of the audio in hexadecimal, as `data:` lines.',
      },
      failures: callFailures,
      further: [missingText],
      headers: ['x-call-id', 'idempotent-replayed', 'idempotent-kept'],
    }),
    accept: async (body, asked): Promise<{ readonly input: SpeechPricingInput }> => {
      const request = readSpeech(body, 'call')
      const voice = await resolveVoice(asked.by.principal.tenantId, request.voiceId)
      return { input: { ...asked.by, family: SPEECH, model: request.model, request, voice } }
    },
    open: (services) => ({
      family: speech,
      answer: ({ input }, request, reply) => {
        const answer = input.request.streamed ? answerSpeechStream : answerSpeech
        return answer(speech, input, request, reply, services)
      },
    }),
  })

/** Forms of the answer to a call for speech: JSON or bytes, whole or as a stream. */

type SpeechPricingInput = PricingInput<SpeechCallInput>
type Offered = Pick<Services, 'calls' | 'http'>

/** Answers a call whole. */
async function answerSpeech(
  speech: SpeechCallFamily,
  asked: SpeechPricingInput,
  request: FastifyRequest,
  reply: FastifyReply,
  { calls, http: { streams: limits } }: Offered,
): Promise<FastifyReply> {
  const body = await answerWhole(calls, speech, asked, reply)
  if (body.form === 'audio')
    return reply.type(mediaTypes[asked.request.format]).send(Buffer.from(body.bytes))
  const data = { audio: body.audio, status: 2 }
  return sendInPieces(reply, { data, ...body.shown, ...succeeded(request) }, limits)
}

/** Streams the answer of a call; a failure before the first byte is an ordinary answer. */
async function answerSpeechStream(
  speech: SpeechCallFamily,
  asked: SpeechPricingInput,
  request: FastifyRequest,
  reply: FastifyReply,
  { calls, http: { streams: limits } }: Offered,
): Promise<FastifyReply> {
  const gone = callerGone(reply)
  const call = await calls.stream(speech, { ...asked, callerGone: gone.signal })
  const headers = { 'x-call-id': call.callId }
  if (answerFormOf(call.channel) === 'audio')
    return reply
      .headers({ ...headers, 'cache-control': 'no-store' })
      .type(mediaTypes[asked.request.format])
      .send(owned(Readable.from(bytesOf(call.frames), { objectMode: false })))
  const dialect: StreamDialect<SpeechFrame> = {
    ...costInLastFrame(({ data }, cost) => `data: ${oneLine(withCost(data, cost))}\n\n`),
    failure: (error) => `data: ${JSON.stringify(failureFrame(error, request.id))}\n\n`,
    end: '',
  }
  return answerStream(request, reply, { gone, call: Promise.resolve(call), dialect, limits })
}

/** Audio has no end mark: if it is incomplete, the gateway aborts the connection. */
async function* bytesOf(frames: AsyncIterable<SpeechFrame>): AsyncGenerator<Buffer, undefined> {
  let whole = false
  for await (const { data, terminal } of frames) {
    whole = terminal
    yield Buffer.from(data, 'hex')
  }
  if (!whole) throw new Error('the audio is not whole')
  return undefined
}
