import { Type } from 'typebox'
import { callExamples, callFailures } from '../../../api/kit/failures/call-failures.ts'
import { costInLastFrame, withCost } from '../../../api/kit/answers/answer-headers.ts'
import { oneLine, type StreamDialect } from '../../../api/kit/answers/event-stream.ts'
import { answer, costHeaderNames, failureResponses } from '../../../api/kit/routes/documentation.ts'
import type { Mount, Surface } from '../../../api/kit/routes/surface.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { begunAtOnce } from '../../../kernel/turns.ts'
import { AnyObject, open } from '../../text/surface/bodies.ts'
import { textSurface, type TextUpstream } from '../../text/surface/calls.ts'
import type { TextFrame } from '../../text/calls/types.ts'
import { failureShape, messagesEnvelope, messagesFailure } from './envelope.ts'
import { messagesLimitHeaders, passedHeaders } from './headers.ts'
import { MessagesBodySchema, readMessages } from './request.ts'

const MEBIBYTE = 1024 * 1024

/** Messages share the prefix of other surfaces, and have another error shape and key header. */
export const messagesMount: Mount = {
  prefix: '/v1',
  owns: (url) => /^\/v1\/messages(?:[/?#]|$)/.test(url),
  envelopeOf: () => messagesEnvelope,
  bodyBytes: 32 * MEBIBYTE,
  body: { keepsText: true, withoutHash: true },
  // The header of older clients of this wire.
  keyHeaders: ['x-api-key'],
  notOffered: [
    [
      /^\/messages\/count_tokens$/,
      'This gateway does not count tokens. POST /v1/quote says what a request would hold',
    ],
    [
      /^\/messages\/batches(?:$|\/)/,
      'This gateway has no batches of messages. POST /v1/messages answers one at a time',
    ],
  ],
  keepsAnswers: true,
}

/** Events with their names. The gateway writes the last one once the call is settled. */
function messagesDialect(requestId: string): StreamDialect<TextFrame> {
  return {
    ...costInLastFrame(
      ({ event, data }, cost) =>
        `event: ${event ?? 'message_delta'}\ndata: ${oneLine(withCost(data, cost))}\n\n`,
    ),
    failure: (error) =>
      `event: error\ndata: ${JSON.stringify(messagesFailure(error, requestId))}\n\n`,
    end: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  }
}

const Count = Type.Integer({ minimum: 0 })

const MessageAnswerSchema = Type.Object(
  {
    id: Type.String({ description: '`msg_` and the end of `x-call-id`.' }),
    type: Type.Literal('message'),
    role: Type.Literal('assistant'),
    model: Type.String({ description: 'Model name of the request.' }),
    content: Type.Array(AnyObject),
    stop_reason: Type.Union([Type.String(), Type.Null()]),
    stop_sequence: Type.Union([Type.String(), Type.Null()]),
    usage: Type.Object(
      {
        input_tokens: Count,
        cache_creation_input_tokens: Type.Union([Count, Type.Null()]),
        cache_read_input_tokens: Type.Union([Count, Type.Null()]),
        output_tokens: Count,
      },
      { ...open, description: '`input_tokens` excludes what was read from and written to caches.' },
    ),
  },
  { ...open, named: 'MessageAnswer' },
)

const callHeaders = ['x-call-id', 'idempotent-replayed', 'idempotent-kept'] as const

/** Messages, below `/v1`. */
export function messagesSurface(upstream: TextUpstream, clock: Clock): Surface {
  const surface = textSurface(
    { ...messagesMount, reportsLimits: messagesLimitHeaders(clock) },
    {
      name: 'v1.messages',
      path: '/messages',
      body: MessagesBodySchema,
      documented: {
        operationId: 'createMessage',
        tags: ['Text'],
        summary: 'Create a message',
        description: 'The token is sent as a bearer token or in `x-api-key`.',
        security: [{ modelToken: [] }, { modelApiKey: [] }],
        response: {
          200: answer({
            json: MessageAnswerSchema,
            others: {
              'text/event-stream':
                'With `stream`: events from `message_start` to `message_stop`; `error` in place of the rest where it fails.',
            },
            headers: [...callHeaders, ...costHeaderNames],
          }),
          ...failureResponses(failureShape, callFailures, callExamples('messages'), callHeaders),
        },
      },
      headers: passedHeaders,
      read: async (body, { by }) => {
        const { stream, ...asked } = await begunAtOnce(readMessages(body))
        return { ...asked, dialect: stream ? messagesDialect(by.requestId) : undefined }
      },
    },
    upstream,
  )
  return {
    ...surface,
    register: (app, services) => {
      app.addHook('onRequest', (request, reply, done) => {
        void reply.header('request-id', request.id)
        done()
      })
      return surface.register(app, services)
    },
  }
}
