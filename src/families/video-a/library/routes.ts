import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import { type Static, Type } from 'typebox'
import { answer, failureResponses } from '../../../api/kit/routes/documentation.ts'
import { principalOf } from '../../../api/kit/tokens/authenticate.ts'
import type { ForeignNames } from '../../../api/kit/bodies/foreign-members.ts'
import { objectBody } from '../../../api/kit/bodies/json-body.ts'
import { typoRefusal } from '../../../api/kit/bodies/typo-check.ts'
import { RequestError } from '../../../api/kit/request-error.ts'
import type { Services } from '../../../api/kit/services.ts'
import type { Mount, Surface } from '../../../api/kit/routes/surface.ts'
import type { Channel } from '../../../app/ports/provider.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { resolveVideoAModel } from '../rules/models.ts'
import { actions } from './actions.ts'
import { ResultSchema } from './answers.ts'
import {
  actionFailures,
  libraryEnvelope,
  libraryEnvelopeOf,
  metadataOf,
  noteRegion,
  regionOf,
} from './envelope.ts'
import {
  type ActionName,
  actionNames,
  ActionQuerySchema,
  bodies,
  isLibraryUrl,
  readAction,
  VERSION,
} from './requests.ts'

const metadata = {
  RequestId: Type.String({ description: 'Our id of the request, equal to x-request-id.' }),
  Action: Type.Optional(Type.Enum([...actionNames])),
  Version: Type.Optional(Type.Enum([VERSION])),
  Service: Type.Literal('assets'),
  Region: Type.Optional(
    Type.Literal('overseas', { description: 'Present if the object is kept overseas.' }),
  ),
} as const

const AnswerSchema = Type.Object({
  ResponseMetadata: Type.Object(metadata),
  Result: ResultSchema,
})

const ErrorSchema = Type.Object(
  {
    ResponseMetadata: Type.Object({
      ...metadata,
      Error: Type.Object({ Code: Type.String(), Message: Type.String() }, { named: 'AssetError' }),
    }),
  },
  { named: 'AssetFailure' },
)

const shape = {
  envelope: libraryEnvelope(`/provA/?Action=GetAsset&Version=${VERSION}`),
  schema: ErrorSchema,
  read: (body: unknown) => {
    const { Code: name, Message: message } = (body as Static<typeof ErrorSchema>).ResponseMetadata
      .Error
    return { name, message }
  },
}

/** Failures that say more than their kind. */
const further = [
  new DomainError('invalid_request', '`Id` is required; its name is case-sensitive', {
    param: 'Id',
    keyword: 'required',
  }),
  new RequestError('parameter_invalid', `\`Version\` must be ${VERSION}`, 'Version'),
]

/** The OpenAPI description of all actions, which are one route. */
const actionSchema: FastifySchema = {
  operationId: 'runAssetAction',
  tags: ['Assets'],
  summary: 'Run an action of the asset library or of the verification of real persons',
  description:
    'Served at `/provA/?Action=<Action>` too. The members of the body and of `Result` depend on the action.',
  security: [{ modelToken: [] }],
  querystring: ActionQuerySchema,
  // The query names the action.
  body: Type.Union(actionNames.map((name) => bodies[name])),
  response: {
    200: answer({ json: AnswerSchema }),
    ...failureResponses(shape, actionFailures, further),
  },
}

/**
 * Refuses a misspelled member of the action's body, and in a creation a member of another creation.
 * @throws RequestError
 */
function spellingCheck(foreign: ForeignNames): (action: ActionName, body: JsonObject) => void {
  const checks = new Map(
    actionNames.map((name) => {
      const names = name.startsWith('Create') ? { foreign } : {}
      return [name, typoRefusal(bodies[name], names)]
    }),
  )
  return (action, body) => checks.get(action)?.(body)
}

/** The asset library and the verification of real persons: `POST /provA/?Action=…`. */

/** The library shares the prefix of the tasks, whose mount answers unknown routes. */
export const library: Mount = {
  prefix: '/provA',
  owns: isLibraryUrl,
  envelopeOf: libraryEnvelope,
  readEnvelopeOf: libraryEnvelopeOf,
  // Names and addresses, never media.
  bodyBytes: 64 * 1024,
  body: { withoutHash: true },
  tags: [
    { name: 'Assets', description: 'The asset library and the verification of real persons.' },
  ],
}

const creations = ['CreateAssetGroup', 'CreateAsset', 'CreateVisualValidateSession'] as const

/** Whether an action creates or changes something: each is an event, and none is billed. */
function keepsSomething({ query }: FastifyRequest): boolean {
  const action = Reflect.get(query as object, 'Action') as unknown
  return typeof action === 'string' && /^(?:Create|Update)/.test(action)
}

function register(app: FastifyInstance, services: Services): void {
  const checkSpelling = spellingCheck(services.http.foreignMembers)
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const action = readAction(request.query as Readonly<Record<string, unknown>>)
    const body = objectBody(request.body)
    checkSpelling(action, body)
    const model = typeof body['model'] === 'string' ? resolveVideoAModel(body['model']) : undefined
    if (model !== undefined) noteRegion(request, model.region)
    const call = {
      asking: { principal: principalOf(request), requestId: request.id },
      body,
      noteRegion: (region: Channel['region']) => noteRegion(request, region),
    }
    const result = await actions[action](call, services)
    // Answers hold one-time credentials and short-lived addresses.
    void reply.header('cache-control', 'no-store')
    const asked = { action, version: VERSION } as const
    return {
      ResponseMetadata: metadataOf(request.id, asked, regionOf(request)),
      Result: result,
    }
  }
  // The readers of the actions check query and body, with the messages of this interface.
  // Creations are limited in their use case as well.
  const config = { startsNothing: true, isFree: keepsSomething } as const
  const judged = { validatorCompiler: () => () => true, handler, config } as const
  // One route, described once; callers write the last slash.
  app.post('/', { ...judged, prefixTrailingSlash: 'no-slash', schema: actionSchema })
  app.post('/', { ...judged, prefixTrailingSlash: 'slash', schema: { hide: true } })
}

export const librarySurface: Surface = {
  mount: library,
  endpoints: {},
  bodies: creations.map((action) => ({ schema: bodies[action] })),
  register,
}

/** A page that is no part of the library's interface. */

const PREFIX = '/real-person'
const PATH = `${PREFIX}/callback`

const style =
  'body{font:1.1rem/1.6 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}'

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>Verification</title>
<style>${style}</style>
</head>
<body>
<p>This step has ended. You can close this page and go back to where you came from.</p>
<p lang="zh-Hans">此步骤已结束。您可以关闭此页面并返回原来的页面。</p>
<p lang="zh-Hant">此步驟已結束。您可以關閉此頁面並返回原來的頁面。</p>
</body>
</html>
`

const headers = {
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
} as const

/**
 * The page to which persons return from their verification, for callers without their own page. It
 * is the same for every person and does not show how the verification went. Its query holds the
 * one-time credential: the gateway does not read, show, keep or log it.
 */
export const realPersonSurface: Surface = {
  mount: { prefix: PREFIX, isOpen: true, bodyBytes: 1024 },
  endpoints: {},
  bodies: [],
  register: (app: FastifyInstance): void => {
    app.addHook('onRequest', (request, _reply, done) => {
      // From now on no log line or error of this request has its query.
      request.raw.url = PATH
      done()
    })
    app.get('/callback', {
      schema: {
        operationId: 'getRealPersonCallback',
        tags: ['Assets'],
        summary: 'Page to which a person returns after a verification',
        response: {
          200: answer({ others: { 'text/html': 'The page; it is the same for every visitor.' } }),
        },
      },
      handler: async (_request, reply) =>
        reply.headers(headers).type('text/html; charset=utf-8').send(page),
    })
  },
}
