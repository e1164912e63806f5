import type { FastifyInstance, FastifyReply } from 'fastify'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { refuse } from '../../../domain/families/checks/fields.ts'
import { answerStream, answerWhole } from '../../../api/kit/answer-call.ts'
import { foreignToTexts } from '../../../api/kit/foreign-members.ts'
import { objectBody } from '../../../api/kit/json-body.ts'
import { CallKeySchema } from '../../../api/kit/idempotency-key.ts'
import { refuseMisspelt } from '../../../api/kit/misspelt.ts'
import { misspeltRefusal } from '../../../api/kit/quoted-path.ts'
import type { Mount, Services, Surface } from '../../../api/kit/surface.ts'
import { alsoInNative } from './also-known.ts'
import { describe } from './documentation.ts'
import { nativeDialect } from './dialect.ts'
import { v1betaEnvelope } from './envelope.ts'
import { readCall } from './read-call.ts'
import { spellings } from './spelling.ts'
import {
  GenerateBodySchema,
  GeneratedSchema,
  ModelParamsSchema,
  StreamQuerySchema,
} from './schemas.ts'

/** Native content generation. */

/** Headers that hold the token where `Authorization` does not. */
const keyHeaders = ['x-native-api-key', 'x-goog-api-key']

/** The reader judges bodies; of their schema only misspelt names are told. */
const validatorCompiler = refuseMisspelt(alsoInNative, { spellings, foreign: foreignToTexts })

export const v1beta: Mount = {
  prefix: '/v1beta',
  envelopeOf: () => v1betaEnvelope,
  // Inline images, audio and long conversations.
  bodyBytes: 64 * 1024 * 1024,
  body: { anyText: true, withoutHash: true },
  keyHeaders,
  keepsAnswers: true,
}

function register(instance: FastifyInstance, services: Services): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.post('/models/:model(^[^:]*)::generateContent', {
    schema: {
      ...describe('generateContent', 'Generate content', { json: GeneratedSchema }),
      params: ModelParamsSchema,
      headers: CallKeySchema,
      body: GenerateBodySchema,
    },
    validatorCompiler,
    handler: async (request, reply) => {
      const part = await readCall(objectBody(request.body), request.params.model, services)
      return answerWhole(services.texts, request, reply, part)
    },
  })

  app.post('/models/:model(^[^:]*)::streamGenerateContent', {
    schema: {
      ...describe('streamGenerateContent', 'Generate content as a stream', {
        others: { 'text/event-stream': '`data:` lines; each holds a part of the answer.' },
      }),
      params: ModelParamsSchema,
      querystring: StreamQuerySchema,
      headers: CallKeySchema,
      body: GenerateBodySchema,
    },
    validatorCompiler,
    handler: async (request, reply): Promise<FastifyReply> => {
      // Without `alt` it is this stream all the same: the other form is not offered.
      if ((request.query.alt ?? 'sse') !== 'sse') refuse('alt', '`alt` must be sse')
      const part = await readCall(objectBody(request.body), request.params.model, services)
      return answerStream(services.texts, request, reply, part, {
        dialect: nativeDialect(),
        limits: services.streamLimits,
      })
    },
  })
}

export const v1betaSurface: Surface = {
  mount: v1beta,
  endpoints: { 'v1beta.generate': '/v1beta/models/{model}:generateContent' },
  bodies: [{ schema: GenerateBodySchema, also: alsoInNative, spellings }],
  register,
  quotes: (services) => {
    const check = misspeltRefusal(GenerateBodySchema, alsoInNative, {
      spellings,
      foreign: foreignToTexts,
    })
    return ['generateContent', 'streamGenerateContent'].map((method) => ({
      path: `/v1beta/models/{model}:${method}`,
      quote: async ({ principal, requestId, part, body }) => {
        check(body)
        const call = await readCall(body, part, services)
        return services.quotes.text({ ...call, principal, requestId })
      },
    }))
  },
}
