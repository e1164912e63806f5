import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { principalOf } from '../../../api/kit/tokens/authenticate.ts'
import { modelFailures } from '../../../api/kit/failures/call-failures.ts'
import {
  findModel,
  listModels,
  type ModelView,
  type Models,
} from '../../../api/kit/routes/models.ts'
import { fromCursor, listKeyOf, toCursor } from '../../../api/kit/routes/queries.ts'
import type { Mount, Surface } from '../../../api/kit/routes/surface.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { isDomainError } from '../../../kernel/errors.ts'
import { textSettings } from '../../text/settings.ts'
import { nativeRules } from '../rules/wire.ts'
import { describeFree } from './envelope.ts'

/** The models that a token may use, in the shape of this wire. */

const DEFAULT_PAGE = 50
const MAX_PAGE = 1_000
const PREFIX = 'models/'

const ModelSchema = Type.Object(
  {
    name: Type.String({ description: '`models/` and the id that other interfaces show.' }),
    displayName: Type.String(),
    outputTokenLimit: Type.Optional(
      Type.Integer({ description: 'The most tokens of one answer, for models of this wire.' }),
    ),
    supportedGenerationMethods: Type.Array(Type.String(), {
      description: 'Empty for a model that other interfaces serve.',
    }),
  },
  { named: 'NativeModel' },
)

const PageSchema = Type.Object(
  {
    models: Type.Array(ModelSchema),
    nextPageToken: Type.Optional(Type.String({ description: 'Absent on the last page.' })),
  },
  { named: 'NativeModelPage' },
)

const PageQuerySchema = Type.Object({
  pageSize: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `Models per page: ${DEFAULT_PAGE} by default, and at most ${MAX_PAGE}.`,
    }),
  ),
  pageToken: Type.Optional(
    Type.String({ maxLength: 256, description: '`nextPageToken` of the previous page.' }),
  ),
})

/** The methods by which the gateway calls a model of this wire; an account may also count tokens. */
const METHODS = ['generateContent', 'streamGenerateContent'] as const
const COUNT = 'countTokens'

function shown({ channels }: Models, { id }: ModelView) {
  const serving = channels.serving({ family: nativeRules.name, model: id })
  const limits = serving.flatMap((channel) => textSettings(channel).largestOutputTokens?.[id] ?? [])
  return {
    name: `${PREFIX}${id}`,
    displayName: id,
    ...(limits.length === 0 ? {} : { outputTokenLimit: Math.max(...limits) }),
    supportedGenerationMethods: [
      ...(serving.length === 0 ? [] : METHODS),
      ...(serving.some((channel) => textSettings(channel).countsTokens !== false) ? [COUNT] : []),
    ],
  }
}

/** @throws DomainError `invalid_request` */
function placeOf(pageToken: string | undefined, listKey: string): string {
  try {
    return fromCursor(pageToken, listKey) ?? ''
  } catch (error) {
    if (!isDomainError(error, 'invalid_cursor')) throw error
    return refuse('pageToken', '`pageToken` must be a nextPageToken of this list')
  }
}

function modelRoutes(instance: FastifyInstance, { models }: { readonly models: Models }): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/models', {
    schema: {
      ...describeFree('listNativeModels', 'List the models that the token may use', PageSchema, [
        ...modelFailures.filter((failure) => failure !== 'unknown_model'),
        'invalid_request',
      ]),
      querystring: PageQuerySchema,
    },
    handler: (request) => {
      const { pageSize = 0, pageToken } = request.query
      const size = pageSize === 0 ? DEFAULT_PAGE : Math.min(pageSize, MAX_PAGE)
      const principal = principalOf(request)
      const listKey = listKeyOf(['native models', principal.models && [...principal.models]], {})
      const after = placeOf(pageToken, listKey)
      const left = listModels(models, principal).filter(({ id }) => id > after)
      const page = left.slice(0, size)
      const last = page.at(-1)
      return {
        models: page.map((model) => shown(models, model)),
        ...(last !== undefined && left.length > size
          ? { nextPageToken: toCursor(last.id, listKey) }
          : {}),
      }
    },
  })
  // The paths of methods, which have a colon, are those of calls.
  app.get('/models/:model(^[^:]+$)', {
    schema: {
      ...describeFree('getNativeModel', 'Show a model', ModelSchema, modelFailures),
      params: Type.Object({ model: Type.String() }),
    },
    handler: (request) =>
      shown(models, findModel(models, principalOf(request), request.params.model)),
  })
}

/** The routes of models below a mount of this wire. */
export const nativeModels = (mount: Mount): Surface => ({
  mount,
  endpoints: {},
  bodies: [],
  register: modelRoutes,
})
