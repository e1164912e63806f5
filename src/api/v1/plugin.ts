import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { Authenticate } from '../../app/access/principal.ts'
import type { TextUseCases } from '../../app/calls/text/types.ts'
import { answerStream, answerWhole, type CallPart } from '../kit/answer-call.ts'
import { principalOf, requireToken } from '../kit/authenticate.ts'
import { useBodyBudget, type BodyBudget } from '../kit/body-budget.ts'
import { useEnvelope } from '../kit/envelope.ts'
import { objectBody, useJsonBody } from '../kit/json-body.ts'
import { CallKeySchema } from '../kit/idempotency-key.ts'
import { useKeptAnswers } from '../kit/keyed-call.ts'
import { refuseMisspelt } from '../kit/misspelt.ts'
import { limitHeadersOf, useLimitHeaders } from '../kit/limit-headers.ts'
import { behindToken } from '../kit/route-failures.ts'
import {
  callExamples,
  callFailures,
  continuationFailures,
  modelFailures,
} from '../kit/call-failures.ts'
import { foreignToTexts } from '../kit/foreign-members.ts'
import { alsoInChat, alsoInResponses } from './also-known.ts'
import { chatDialect } from './chat/dialect.ts'
import { readChatRequest } from './chat/request.ts'
import { describe } from './documentation.ts'
import { v1Envelope } from './envelope.ts'
import { type FileRouteDeps, filesPlugin } from './files/plugin.ts'
import { type ImageRouteDeps, imagesPlugin } from './images/plugin.ts'
import { type KeyRouteDeps, keyRoute } from './key/plugin.ts'
import { findModel, listModels } from './models/models.ts'
import { quotePlugin, type QuoteRouteDeps } from './quote/plugin.ts'
import { readResponsesRequest } from './responses/request.ts'
import { responsesDialect } from './responses/dialect.ts'
import {
  ChatBodySchema,
  ChatCompletionSchema,
  LooseModelParamsSchema,
  ModelListSchema,
  ModelParamsSchema,
  ModelSchema,
  ResponsesBodySchema,
  ResponseSchema,
} from './schemas.ts'
import { type VideoRouteDeps, videosPlugin } from './videos/plugin.ts'

export interface V1Deps
  extends ImageRouteDeps, FileRouteDeps, VideoRouteDeps, QuoteRouteDeps, KeyRouteDeps {
  readonly authenticate: Authenticate
  readonly texts: TextUseCases
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
}

/** What every stream is sent with, whatever its dialect. */
function streamOptions(deps: V1Deps, request: FastifyRequest) {
  return { limits: deps.streamLimits, headers: () => limitHeadersOf(request, deps.standingsOf) }
}

function chatRoute(app: FastifyInstance, deps: V1Deps): void {
  const { texts } = deps
  app.post('/chat/completions', {
    // The reader judges bodies and names the field; of the schema only misspelt names are told.
    validatorCompiler: refuseMisspelt(alsoInChat, { foreign: foreignToTexts }),
    schema: {
      ...describe({
        tag: 'Text',
        operationId: 'createChatCompletion',
        isCall: true,
        summary: 'Complete a chat',
        ok: ChatCompletionSchema,
        events: 'With `stream`: chunks as `data:` lines, and `[DONE]`.',
        failures: callFailures,
        further: callExamples('messages'),
      }),
      headers: CallKeySchema,
      body: ChatBodySchema,
    },
    handler: async (request, reply) => {
      const { stream, includeUsage, ...asked } = readChatRequest(objectBody(request.body))
      const part: CallPart = { family: 'chat', surface: 'v1.chat', ...asked }
      if (!stream) return answerWhole(texts, request, reply, part)
      const dialect = chatDialect(includeUsage)
      const options = { dialect, ...streamOptions(deps, request) }
      return answerStream(texts, request, reply, part, options)
    },
  })
}

function responsesRoute(app: FastifyInstance, deps: V1Deps): void {
  const { texts } = deps
  app.post('/responses', {
    validatorCompiler: refuseMisspelt(alsoInResponses, { foreign: foreignToTexts }),
    schema: {
      ...describe({
        tag: 'Text',
        operationId: 'createResponse',
        isCall: true,
        summary: 'Create a response',
        ok: ResponseSchema,
        events: 'With `stream`: the events of the response, `event:` and `data:`.',
        failures: [...callFailures, ...continuationFailures],
        further: callExamples('input'),
      }),
      headers: CallKeySchema,
      body: ResponsesBodySchema,
    },
    handler: async (request, reply) => {
      const { stream, ...asked } = readResponsesRequest(objectBody(request.body))
      const part: CallPart = { family: 'responses', surface: 'v1.responses', ...asked }
      if (!stream) return answerWhole(texts, request, reply, part)
      const options = { dialect: responsesDialect(), ...streamOptions(deps, request) }
      return answerStream(texts, request, reply, part, options)
    },
  })
}

function modelRoutes(instance: FastifyInstance, deps: V1Deps): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/models', {
    schema: describe({
      tag: 'Text',
      operationId: 'listModels',
      summary: 'List the models the token may use',
      ok: ModelListSchema,
      failures: behindToken,
    }),
    handler: async (request) => ({
      object: 'list' as const,
      data: [...(await listModels(deps, principalOf(request)))],
    }),
  })
  app.get('/models/:id', {
    schema: {
      ...describe({
        tag: 'Text',
        operationId: 'getModel',
        summary: 'Show a model',
        ok: ModelSchema,
        failures: modelFailures,
      }),
      params: ModelParamsSchema,
    },
    handler: async (request) => findModel(deps, principalOf(request), request.params.id),
  })
  // An id with a slash that was not encoded.
  app.get('/models/*', {
    schema: { hide: true, params: LooseModelParamsSchema },
    handler: async (request) => findModel(deps, principalOf(request), request.params['*']),
  })
}

/** Chat, responses, images, videos, files, models and quotes, to be registered under `/v1`. */
export function v1Plugin(deps: V1Deps) {
  return async (app: FastifyInstance): Promise<void> => {
    useEnvelope(app, v1Envelope)
    useBodyBudget(app, deps.bodyBudget, deps.bodyLimitBytes)
    useJsonBody(app, deps.bodyLimitBytes, { anyText: true, withoutHash: true })
    requireToken(app, deps.authenticate, 'model')
    useLimitHeaders(app, deps.standingsOf)
    useKeptAnswers(app)
    chatRoute(app, deps)
    responsesRoute(app, deps)
    modelRoutes(app, deps)
    keyRoute(app, deps)
    await app.register(imagesPlugin(deps))
    await app.register(videosPlugin(deps))
    await app.register(filesPlugin(deps))
    await app.register(quotePlugin(deps))
  }
}
