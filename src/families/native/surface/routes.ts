import type { FastifyRequest } from 'fastify'
import {
  type ReadTextCall,
  type TextCalls,
  textSurface,
  type TextUpstream,
} from '../../text/surface/calls.ts'
import type { Services } from '../../../api/kit/services.ts'
import type { Mount, Surface } from '../../../api/kit/routes/surface.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { checkPublicUrl } from '../../../kernel/public-url.ts'
import { describeFree, describeNative, nativeDialect, v1betaEnvelope } from './envelope.ts'
import { countSurface, type CountUpstream, type TextCounts } from '../../text/surface/counts.ts'
import { callExamples, countFailures } from '../../../api/kit/failures/call-failures.ts'
import {
  spellings,
  GenerateBodySchema,
  GeneratedSchema,
  ModelParamsSchema,
  StreamQuerySchema,
} from './bodies.ts'
import { nativeModels } from './models.ts'
import { CountBodySchema, CountedSchema, countedRequest } from './counts.ts'
import { type NativeRequest, readNativeRequest } from './request.ts'

/** Upstream fetches files by URL; the gateway checks their address like a callback's. */
async function checkFiles(
  { files }: NativeRequest,
  { hosts }: Pick<Services, 'hosts'>,
): Promise<void> {
  const verdicts = await Promise.all(files.map(({ uri }) => checkPublicUrl(uri, hosts.resolve)))
  for (const [index, verdict] of verdicts.entries()) {
    const path = files[index]?.path ?? 'contents'
    if (!verdict.ok) refuse(path, `\`${path}\` ${verdict.reason}`)
    else if (isKeptFile(new URL(verdict.url), hosts.upstream))
      refuse(path, `\`${path}\` must not name a file of the model service`)
  }
}

/** Whether a URL names a file of an account, which upstream would open by itself (P8). */
function isKeptFile({ hostname, pathname }: URL, upstreamHosts: ReadonlySet<string>): boolean {
  // An account may be reached through another host than the one its files are named by.
  const isFileName = /^\/v\d+(?:alpha|beta)\d*\/files\//i.test(pathname)
  return isFileName || upstreamHosts.has(hostname.replace(/\.$/, ''))
}

/**
 * Reads the request for a model from a body. @throws DomainError `invalid_request`, naming the
 * field
 */
async function readCall(
  body: JsonObject,
  model: string,
  services: Pick<Services, 'hosts'>,
): Promise<Omit<ReadTextCall, 'dialect'>> {
  const asked = readNativeRequest(model, body)
  await checkFiles(asked, services)
  const { body: upstream, inputSize } = asked
  return { model, body: upstream, inputSize }
}

/** Native content generation. */

const v1beta: Mount = {
  prefix: '/v1beta',
  envelopeOf: () => v1betaEnvelope,
  // Inline images, audio and long conversations.
  bodyBytes: 64 * 1024 * 1024,
  body: { passesOn: true, withoutHash: true },
  // Headers that may hold the token if there is no `Authorization`.
  keyHeaders: ['x-native-api-key', 'x-goog-api-key'],
  notOffered: [
    [
      /^\/models\/[^/]+(?::|%3A)(?:embedContent|batchEmbedContents)$/i,
      'This gateway has no embeddings. GET /v1/models lists what it has',
    ],
  ],
  keepsAnswers: true,
}

const NATIVE_URL =
  /^\/v1\/models\/[^/?#]*(?::|%3A)(?:generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents)(?:[?#]|$)/i

/** The route below `/v1`, which current official clients use; `/v1` answers unknown routes. */
const v1Native: Mount = {
  ...v1beta,
  prefix: '/v1',
  owns: (url) => NATIVE_URL.test(url),
}

/** Uploads of official clients, which are not offered: they are refused in the shape of this wire. */
const uploads: Mount = {
  prefix: '/upload/v1beta',
  envelopeOf: () => v1betaEnvelope,
  bodyBytes: 0,
}

const paths = {
  generate: {
    path: '/models/{model}:generateContent',
    route: '/models/:model(^[^:]*)::generateContent',
  },
  stream: {
    path: '/models/{model}:streamGenerateContent',
    route: '/models/:model(^[^:]*)::streamGenerateContent',
  },
  count: {
    path: '/models/{model}:countTokens',
    route: '/models/:model(^[^:]*)::countTokens',
  },
} as const

/** @param below the end of the ids of its operations */
function generate(name: string, below: string): TextCalls {
  return {
    ...paths.generate,
    name,
    shownAs: paths.generate.path,
    body: GenerateBodySchema,
    spellings,
    documented: {
      ...describeNative(`generateContent${below}`, 'Generate content', { json: GeneratedSchema }),
      params: ModelParamsSchema,
    },
    read: async (body, { part }, services) => ({
      ...(await readCall(body, part, services)),
      dialect: undefined,
    }),
  }
}

function generateStream(name: string, below: string): TextCalls {
  return {
    ...generate(name, below),
    ...paths.stream,
    documented: {
      ...describeNative(`streamGenerateContent${below}`, 'Generate content as a stream', {
        others: {
          'text/event-stream': 'Lines that begin with `data:`; each has a part of the answer.',
        },
      }),
      params: ModelParamsSchema,
      querystring: StreamQuerySchema,
    },
    read: async (body, { part }, services) => ({
      ...(await readCall(body, part, services)),
      dialect: nativeDialect(),
    }),
    check: (request: FastifyRequest) => {
      const { alt = 'sse' } = request.query as { readonly alt?: string }
      // The stream without `alt`: the gateway does not offer the other form.
      if (alt !== 'sse') refuse('alt', '`alt` must be sse')
    },
  }
}

function count(name: string, below: string): TextCounts {
  return {
    ...paths.count,
    name,
    body: CountBodySchema,
    spellings,
    documented: {
      ...describeFree(
        `countTokens${below}`,
        'Count the tokens of a request',
        CountedSchema,
        countFailures,
        callExamples('contents'),
      ),
      params: ModelParamsSchema,
    },
    read: async (body, { part }, services) => readCall(countedRequest(part, body), part, services),
  }
}

export const nativeMounts: readonly Mount[] = [v1beta, v1Native, uploads]

export const nativeSurfaces = (upstream: TextUpstream & CountUpstream): readonly Surface[] => [
  nativeModels(v1beta),
  textSurface(v1beta, generate('v1beta.generate', ''), upstream),
  textSurface(v1beta, generateStream('v1beta.generate', ''), upstream),
  countSurface(v1beta, count('v1beta.count', ''), upstream),
  countSurface(v1Native, count('v1.count', 'BelowV1'), upstream),
  textSurface(v1Native, generate('v1.generate', 'BelowV1'), upstream),
  textSurface(v1Native, generateStream('v1.generate', 'BelowV1'), upstream),
  { mount: uploads, endpoints: {}, bodies: [], register: () => undefined },
]
