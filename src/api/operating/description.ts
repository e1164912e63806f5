import fastifySwagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import {
  failureResponses,
  headerComponents,
  shareRepeatedParts,
} from '../kit/routes/documentation.ts'
import { nameSchemas } from '../kit/routes/schema-names.ts'
import { RequestError } from '../kit/request-error.ts'
import type { Tag } from '../kit/routes/surface.ts'
import { documentedSchema } from '../../kernel/body.ts'
import { operatingShape } from './envelope.ts'

const about = `A gateway in front of AI model providers that treats every call as money.

Send a token as \`Authorization: Bearer <TOKEN>\`. Every answer carries \`x-request-id\`; every answer
to a creation, also a failed one, carries \`x-platform-id\` once the task exists. An answer with
\`x-should-retry: false\` must not be repeated automatically: that could create a second task.

A token may have limits: requests and text tokens a minute, and tasks at a time. At a limit the answer
is 429 with \`Retry-After\`, and nothing was started; answers of \`/v1\` say in \`x-ratelimit-*\` how far a
limited token is from its limits.

The filter below finds sections, and routes by their path and summary.`

/** Sections of routes that belong to no mount. */
const ownTags: readonly Tag[] = [
  { name: 'Account', description: 'Balance of the tenant of a token, and a user’s own tokens.' },
  { name: 'Administration', description: 'Tenants, users, credit and tokens.' },
  { name: 'Finance and support', description: 'Read-only queries of the ledger and of histories.' },
  { name: 'Prices', description: 'Price of a request before it is made.' },
  { name: 'Operating', description: 'Health, readiness and metrics, without a token.' },
]

/** Tokens and their headers. */
const securitySchemes = {
  modelToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'Model token `sk-…`, for calls of models.',
  },
  modelApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'The model token without a scheme, below `/v1` in place of `Authorization`.',
  },
  modelKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-native-api-key',
    description: 'The model token without a scheme, in place of `Authorization`.',
  },
  modelClientKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-goog-api-key',
    description:
      'The model token without a scheme, as official clients of native generation send it.',
  },
  profileToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'Profile access token `pat-…`, for the account of its tenant.',
  },
  adminToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'Admin token `adm-…`, for tenants, users, credit and tokens.',
  },
  queryToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'Query authorization token `qak-…`, for read-only queries.',
  },
} as const

/** Failures of routes that need no token. */
const openFailures = failureResponses(
  operatingShape,
  ['headers_too_large'],
  [new RequestError('parameter_invalid', '`a` holds a NUL character')],
)

/** The description of a route; a route without a declared token is open. */
function documentedRoute<Schema extends FastifySchema | undefined>(schema: Schema): Schema {
  if (schema === undefined || schema.hide === true) return schema
  const { body, querystring, params, security, response } = schema
  return {
    ...schema,
    ...(body !== undefined && { body: documentedBodies(body) }),
    ...(querystring !== undefined && { querystring: documentedSchema(querystring) }),
    ...(params !== undefined && { params: documentedSchema(withKey(Object(params))) }),
    ...(security === undefined && { response: { ...openFailures, ...Object(response) } }),
  }
}

/** The rest of a path, which the router calls `*`, is a parameter that has a name. */
function withKey({ properties = {}, ...params }: { readonly properties?: object }): object {
  const named = Object.entries(properties).map(([name, one]) => [name === '*' ? 'key' : name, one])
  const required = Object(params).required?.map((name: string) => (name === '*' ? 'key' : name))
  return { ...params, properties: Object.fromEntries(named), ...(required && { required }) }
}

/** Below this every body may be left out whose members may all be: see `strictBodies`. */
const WITHOUT_BODY = '/api/'

/** Says which bodies may be left out; the framework takes all for required. */
function markOptionalBodies(paths: object): void {
  for (const [path, operations] of Object.entries(paths))
    for (const { requestBody } of Object.values<DescribedOperation>(operations)) {
      const { required = [] } = requestBody?.content['application/json']?.schema ?? {}
      if (requestBody !== undefined && path.startsWith(WITHOUT_BODY) && required.length === 0)
        requestBody.required = false
    }
}

interface DescribedOperation {
  readonly requestBody?: {
    required: boolean
    readonly content: Readonly<
      Record<string, { readonly schema: { readonly required?: readonly string[] } }>
    >
  }
}

/** The description of a body, also as a form where it may be sent as one. */
function documentedBodies(schema: unknown): unknown {
  const { asForm } = Object(schema)
  const body = documentedBody(schema)
  if (asForm === undefined) return body
  const content = {
    'application/json': { schema: body },
    'multipart/form-data': { schema: documentedSchema(asForm) },
  }
  return { content }
}

/** The description of a body: of several alternatives the examples of all. */
function documentedBody(schema: unknown): unknown {
  const body = Object(documentedSchema(schema))
  if (body.examples !== undefined || !Array.isArray(body.anyOf)) return body
  const examples = body.anyOf.flatMap(
    (one: { examples?: readonly unknown[] }) => one.examples ?? [],
  )
  return examples.length === 0 ? body : { ...body, examples }
}

/** An OpenAPI document. */
export interface Description {
  readonly openapi: string
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly operationId: string }>>>
  >
}
type Describe = () => Promise<Description>

/**
 * Describes the routes that are registered after it, in OpenAPI. Making the document holds the event loop for
 * most of a second, so that a build makes it once: see `useBuiltDescription`.
 *
 * @param ofMounts sections of the routes for model tokens, in the order in which they are shown
 */
export async function useDescription(
  app: FastifyInstance,
  version: string,
  ofMounts: readonly Tag[],
): Promise<Describe> {
  await app.register(fastifySwagger, {
    transform: ({ schema, url }) => ({
      schema: documentedRoute(schema),
      url: url.replace('*', ':key'),
    }),
    transformObject: (document) => {
      if (!('openapiObject' in document)) return document.swaggerObject
      const { paths = {}, components = {} } = document.openapiObject
      shareRepeatedParts(paths)
      markOptionalBodies(paths)
      Object.assign(components, { schemas: nameSchemas(paths) })
      return document.openapiObject
    },
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tollgate',
        description: about,
        version,
        license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/' }],
      // The default section: the operating routes.
      security: [],
      tags: [...new Map([...ofMounts, ...ownTags].map((tag) => [tag.name, tag])).values()],
      components: {
        securitySchemes,
        headers: headerComponents,
      },
    },
  })
  return () => Promise.resolve(Object(app.swagger()))
}

const unread = { openapi: '3.1.0', info: { title: 'Tollgate', version: '' }, paths: {} }

/**
 * The document that the build made of all routes (`src/start/describe.ts`), without those that this process does not
 * have: which it has follows from its configuration.
 */
export async function useBuiltDescription(
  app: FastifyInstance,
  read: () => Promise<string>,
): Promise<Describe> {
  // The library of the page takes no other sign that there is a description.
  await app.register(fastifySwagger, { mode: 'static', specification: { document: unread } })
  const registered = new Set<string | undefined>()
  app.addHook('onRoute', ({ schema }) => void registered.add(schema?.operationId))
  return async () => {
    const built: Description = JSON.parse(await read())
    const paths = Object.entries(built.paths).flatMap(([path, operations]) => {
      const here = Object.entries(operations).filter(([, { operationId }]) =>
        registered.has(operationId),
      )
      return here.length === 0 ? [] : [[path, Object.fromEntries(here)] as const]
    })
    return { ...built, paths: Object.fromEntries(paths) }
  }
}
