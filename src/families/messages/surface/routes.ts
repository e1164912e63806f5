import { Type } from 'typebox'
import {
  callExamples,
  callFailures,
  countFailures,
} from '../../../api/kit/failures/call-failures.ts'
import { costInLastFrame, withCost } from '../../../api/kit/answers/answer-headers.ts'
import { oneLine, type StreamDialect } from '../../../api/kit/answers/event-stream.ts'
import { answer, costHeaderNames, failureResponses } from '../../../api/kit/routes/documentation.ts'
import type { Mount, Surface } from '../../../api/kit/routes/surface.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { begunAtOnce } from '../../../kernel/turns.ts'
import { AnyObject, open } from '../../text/surface/bodies.ts'
import { type TextCalls, textSurface, type TextUpstream } from '../../text/surface/calls.ts'
import { countSurface, type CountUpstream, type TextCounts } from '../../text/surface/counts.ts'
import type { TextFrame } from '../../text/calls/types.ts'
import { failureShape, messagesEnvelope, messagesFailure } from './envelope.ts'
import { messagesLimitHeaders, passedHeaders } from './headers.ts'
import {
  MessageCountBodySchema,
  MessagesBodySchema,
  readMessageCount,
  readMessages,
} from './request.ts'

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

const security = [{ modelToken: [] }, { modelApiKey: [] }]

const messageCalls: TextCalls = {
  name: 'v1.messages',
  path: '/messages',
  body: MessagesBodySchema,
  documented: {
    operationId: 'createMessage',
    tags: ['Text'],
    summary: 'Create a message',
    description: 'The token is sent as a bearer token or in `x-api-key`.',
    security,
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
}

const MessageCountSchema = Type.Object(
  { input_tokens: Count },
  { ...open, named: 'MessageTokensCount', description: 'Further members are the provider’s.' },
)

const messageCounts: TextCounts = {
  name: 'v1.messages.count_tokens',
  path: '/messages/count_tokens',
  body: MessageCountBodySchema,
  documented: {
    operationId: 'countMessageTokens',
    tags: ['Text'],
    summary: 'Count the tokens of a message',
    description: 'Free: the figure of the provider that would serve the message.',
    security,
    response: {
      200: answer({ json: MessageCountSchema }),
      ...failureResponses(failureShape, countFailures, callExamples('messages')),
    },
  },
  headers: passedHeaders,
  read: (body) => begunAtOnce(readMessageCount(body)),
}

/** Messages and the count of their tokens, below `/v1`. */
export function messagesSurfaces(
  upstream: TextUpstream & CountUpstream,
  clock: Clock,
): readonly Surface[] {
  const mount = { ...messagesMount, reportsLimits: messagesLimitHeaders(clock) }
  return [
    withRequestId(textSurface(mount, messageCalls, upstream)),
    withRequestId(countSurface(mount, messageCounts, upstream)),
  ]
}

/** Clients of this wire read the id of a request from a header of another name. */
function withRequestId(surface: Surface): Surface {
  return {
    ...surface,
    register: async (below, services) => {
      await below.register(async (app) => {
        app.addHook('onRequest', (request, reply, done) => {
          void reply.header('request-id', request.id)
          done()
        })
        await surface.register(app, services)
      })
    },
  }
}
