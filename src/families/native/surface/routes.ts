import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply } from 'fastify'
import {
  answerStream,
  answerWhole,
  type CallPart,
  textRoad,
  type TextUpstream,
} from '../../text/surface/answer-call.ts'
import { foreignToTexts } from '../../../api/kit/foreign-members.ts'
import { CallKeySchema } from '../../../api/kit/idempotency.ts'
import { objectBody } from '../../../api/kit/json-body.ts'
import { refuseMisspelt } from '../../../api/kit/misspelt.ts'
import { misspeltRefusal } from '../../../api/kit/quoted-path.ts'
import type { Mount, Services, Surface } from '../../../api/kit/surface.ts'
import { refuse } from '../../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { checkPublicUrl, type ResolveHost } from '../../../kernel/public-url.ts'
import { describe, nativeDialect, v1betaEnvelope } from './envelope.ts'
import { spellings } from './names.ts'
import { type NativeRequest, readNativeRequest } from './request.ts'
import {
  GenerateBodySchema,
  GeneratedSchema,
  ModelParamsSchema,
  StreamQuerySchema,
} from './bodies.ts'

/** What judging files given by URL takes. */
interface FileChecks {
  readonly resolveHost: ResolveHost
  /** Upstream would open files of our account that lie there by itself. */
  readonly upstreamHosts: ReadonlySet<string>
}

/** Files by URL are fetched by upstream; where they lie is checked like a callback. */
async function checkFiles(
  { files }: NativeRequest,
  { resolveHost, upstreamHosts }: FileChecks,
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

/** What a body asks of a model. @throws DomainError `invalid_request`, naming the field */
async function readCall(body: JsonObject, model: string, deps: FileChecks): Promise<CallPart> {
  const asked = readNativeRequest(model, body)
  await checkFiles(asked, deps)
  const { body: upstream, inputSize } = asked
  return { surface: 'v1beta.generate', model, body: upstream, inputSize }
}

/** Native content generation. */

/** Headers that hold the token where `Authorization` does not. */
const keyHeaders = ['x-native-api-key', 'x-goog-api-key']

/** The reader judges bodies; their schema only finds misspelt names. */
const validatorCompiler = refuseMisspelt({}, { spellings, foreign: foreignToTexts })

export const v1beta: Mount = {
  prefix: '/v1beta',
  envelopeOf: () => v1betaEnvelope,
  // Inline images, audio and long conversations.
  bodyBytes: 64 * 1024 * 1024,
  body: { anyText: true, withoutHash: true },
  keyHeaders,
  keepsAnswers: true,
}

function register(instance: FastifyInstance, upstream: TextUpstream, services: Services): void {
  const road = textRoad(upstream, services)
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
      return answerWhole(road, request, reply, part)
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
      return answerStream(road, request, reply, part, {
        dialect: nativeDialect(),
        limits: services.streamLimits,
      })
    },
  })
}

export const v1betaSurface = (upstream: TextUpstream): Surface => ({
  mount: v1beta,
  endpoints: { 'v1beta.generate': '/v1beta/models/{model}:generateContent' },
  bodies: [{ schema: GenerateBodySchema, spellings }],
  register: (app, services) => register(app, upstream, services),
  quotes: (services) => {
    const { runner, family: calls, name: family } = textRoad(upstream, services)
    const check = misspeltRefusal(
      GenerateBodySchema,
      {},
      {
        spellings,
        foreign: foreignToTexts,
      },
    )
    return ['generateContent', 'streamGenerateContent'].map((method) => ({
      path: `/v1beta/models/{model}:${method}`,
      quote: async ({ principal, requestId, part, body }) => {
        check(body)
        const call = await readCall(body, part, services)
        return runner.quote(calls, { ...call, family, principal, requestId })
      },
    }))
  },
})
