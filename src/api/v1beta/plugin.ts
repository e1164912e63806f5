import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { Authenticate } from '../../app/access/principal.ts'
import type { TextFrame, TextUseCases } from '../../app/calls/text/types.ts'
import { refuse } from '../../domain/families/checks/fields.ts'
import { answerStream, answerWhole, type CallPart } from '../kit/answer-call.ts'
import { requireToken } from '../kit/authenticate.ts'
import { useBodyBudget, type BodyBudget } from '../kit/body-budget.ts'
import { useEnvelope } from '../kit/envelope.ts'
import { oneLine, type StreamDialect, type StreamLimits } from '../kit/event-stream.ts'
import { objectBody, useJsonBody } from '../kit/json-body.ts'
import { refuseMisspelt } from '../kit/misspelt.ts'
import { checkPublicUrl, type ResolveHost } from '../../kernel/public-url.ts'
import { alsoInNative } from './also-known.ts'
import { describe } from './documentation.ts'
import { v1betaEnvelope, v1betaFailureBody } from './envelope.ts'
import { readNativeRequest, type NativeRequest } from './request.ts'
import { spellings } from './spelling.ts'
import {
  GenerateBodySchema,
  GeneratedSchema,
  ModelParamsSchema,
  StreamQuerySchema,
} from './schemas.ts'

export interface V1BetaDeps {
  readonly authenticate: Authenticate
  readonly texts: TextUseCases
  /** For files given by URL. */
  readonly resolveHost: ResolveHost
  /** Upstream would open files of our account that lie there by itself. */
  readonly upstreamHosts: ReadonlySet<string>
  readonly bodyLimitBytes: number
  readonly bodyBudget: BodyBudget
  readonly streamLimits: StreamLimits
}

/** Headers that hold the token where `Authorization` does not. */
const keyHeaders = ['x-native-api-key', 'x-goog-api-key']

/** `data:` lines alone and no `[DONE]`: clients of this wire parse every frame. */
const dialect: StreamDialect<TextFrame> = {
  frame: (frame) => (frame.data === '[DONE]' ? undefined : `data: ${oneLine(frame.data)}\n\n`),
  failure: (error) => `data: ${JSON.stringify(v1betaFailureBody(error))}\n\n`,
  end: '',
}

/** The reader judges bodies; of their schema only misspelt names are told. */
const validatorCompiler = refuseMisspelt(alsoInNative, spellings)

/** Files by URL are fetched by upstream; where they lie is checked like a callback. */
async function checkFiles(
  { files }: NativeRequest,
  { resolveHost, upstreamHosts }: V1BetaDeps,
): Promise<void> {
  const verdicts = await Promise.all(files.map(({ uri }) => checkPublicUrl(uri, resolveHost)))
  for (const [index, verdict] of verdicts.entries()) {
    const path = files[index]?.path ?? 'contents'
    if (!verdict.ok) refuse(path, `\`${path}\` ${verdict.reason}`)
    else if (isKeptFile(new URL(verdict.url), upstreamHosts))
      refuse(path, `\`${path}\` must not name a file of the model service`)
  }
}

/** Whether a URL is the name of a file some account keeps, which upstream opens by itself (P8). */
function isKeptFile({ hostname, pathname }: URL, upstreamHosts: ReadonlySet<string>): boolean {
  // An account may be reached through another host than the one its files are named by.
  const isFileName = /^\/v\d+(?:alpha|beta)\d*\/files\//i.test(pathname)
  return isFileName || upstreamHosts.has(hostname.replace(/\.$/, ''))
}

async function readCall(
  request: FastifyRequest,
  model: string,
  deps: V1BetaDeps,
): Promise<CallPart> {
  const asked = readNativeRequest(model, objectBody(request.body))
  await checkFiles(asked, deps)
  const { body, inputSize } = asked
  return { family: 'native', surface: 'v1beta.generate', model, body, inputSize }
}

/** Native content generation, to be registered under `/v1beta`. */
export function v1betaPlugin(deps: V1BetaDeps) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<TypeBoxTypeProvider>()
    useEnvelope(instance, v1betaEnvelope)
    useBodyBudget(instance, deps.bodyBudget, deps.bodyLimitBytes)
    useJsonBody(instance, deps.bodyLimitBytes, { anyText: true, withoutHash: true })
    requireToken(instance, deps.authenticate, 'model', keyHeaders)

    app.post('/models/:model(^[^:]*)::generateContent', {
      schema: {
        ...describe('generateContent', 'Generate content', { json: GeneratedSchema }),
        params: ModelParamsSchema,
        body: GenerateBodySchema,
      },
      validatorCompiler,
      handler: async (request, reply) => {
        const part = await readCall(request, request.params.model, deps)
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
        body: GenerateBodySchema,
      },
      validatorCompiler,
      handler: async (request, reply): Promise<FastifyReply> => {
        // Without `alt` it is this stream all the same: the other form is not offered.
        if ((request.query.alt ?? 'sse') !== 'sse') refuse('alt', '`alt` must be sse')
        const part = await readCall(request, request.params.model, deps)
        return answerStream(deps.texts, request, reply, part, {
          dialect,
          limits: deps.streamLimits,
        })
      },
    })
  }
}
