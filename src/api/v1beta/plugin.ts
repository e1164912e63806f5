import type { FastifyInstance, FastifyReply } from 'fastify'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { Authenticate } from '../../app/access/principal.ts'
import type { TextUseCases } from '../../app/calls/text/types.ts'
import { refuse } from '../../domain/families/checks/fields.ts'
import { answerStream, answerWhole } from '../kit/answer-call.ts'
import { requireToken } from '../kit/authenticate.ts'
import { useBodyBudget, type BodyBudget } from '../kit/body-budget.ts'
import { useEnvelope } from '../kit/envelope.ts'
import type { StreamLimits } from '../kit/event-stream.ts'
import { foreignToTexts } from '../kit/foreign-members.ts'
import { objectBody, useJsonBody } from '../kit/json-body.ts'
import { CallKeySchema } from '../kit/idempotency-key.ts'
import { useKeptAnswers } from '../kit/keyed-call.ts'
import { refuseMisspelt } from '../kit/misspelt.ts'
import { alsoInNative } from './also-known.ts'
import { describe } from './documentation.ts'
import { nativeDialect } from './dialect.ts'
import { v1betaEnvelope } from './envelope.ts'
import { type FileChecks, readCall } from './read-call.ts'
import { spellings } from './spelling.ts'
import {
  GenerateBodySchema,
  GeneratedSchema,
  ModelParamsSchema,
  StreamQuerySchema,
} from './schemas.ts'

export interface V1BetaDeps extends FileChecks {
  readonly authenticate: Authenticate
  readonly texts: TextUseCases
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
  readonly streamLimits: StreamLimits
}

/** Headers that hold the token where `Authorization` does not. */
const keyHeaders = ['x-native-api-key', 'x-goog-api-key']

/** The reader judges bodies; of their schema only misspelt names are told. */
const validatorCompiler = refuseMisspelt(alsoInNative, { spellings, foreign: foreignToTexts })

/** Native content generation, to be registered under `/v1beta`. */
export function v1betaPlugin(deps: V1BetaDeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<TypeBoxTypeProvider>()
    useEnvelope(instance, v1betaEnvelope)
    useBodyBudget(instance, deps.bodyBudget, deps.bodyLimitBytes)
    useJsonBody(instance, deps.bodyLimitBytes, { anyText: true, withoutHash: true })
    requireToken(instance, deps.authenticate, 'model', keyHeaders)
    useKeptAnswers(instance)

    app.post('/models/:model(^[^:]*)::generateContent', {
      schema: {
        ...describe('generateContent', 'Generate content', { json: GeneratedSchema }),
        params: ModelParamsSchema,
        headers: CallKeySchema,
        body: GenerateBodySchema,
      },
      validatorCompiler,
      handler: async (request, reply) => {
        const part = await readCall(objectBody(request.body), request.params.model, deps)
        return answerWhole(deps.texts, request, reply, part)
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
        const part = await readCall(objectBody(request.body), request.params.model, deps)
        return answerStream(deps.texts, request, reply, part, {
          dialect: nativeDialect(),
          limits: deps.streamLimits,
        })
      },
    })
  }
}
