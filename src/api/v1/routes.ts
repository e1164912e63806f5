import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import { principalOf } from '../kit/authenticate.ts'
import { modelFailures } from '../kit/call-failures.ts'
import type { QuotedPath, KnownBody, Surface } from '../kit/surface.ts'
import { tokenFailures } from '../kit/route-failures.ts'
import { describe } from './documentation.ts'
import { type FileRouteDeps, filesPlugin } from './files.ts'
import { type ImageRouteDeps, imagesPlugin } from './images/plugin.ts'
import { imageBodies } from './images/order.ts'
import { keyRoute, type KeyRouteDeps } from './key.ts'
import {
  findModel,
  listModels,
  LooseModelParamsSchema,
  type ModelDeps,
  ModelListSchema,
  ModelParamsSchema,
  ModelSchema,
  ModelsQuerySchema,
} from './models.ts'
import { v1 } from './mount.ts'
import { quotePlugin, type QuoteDeps, v1QuotedPaths } from './quote.ts'
import { type VideoRouteDeps, videosPlugin } from './videos/plugin.ts'
import { CreateVideoBodySchema } from './videos/order.ts'

/**
 * The routes of `/v1` that belong to no single family: images, videos, files, models and quotes.
 */

interface V1Deps
  extends ImageRouteDeps, FileRouteDeps, VideoRouteDeps, KeyRouteDeps, QuoteDeps, ModelDeps {}

/** Bodies of its creations; other creations refuse their members by name. */
export const v1Bodies = (catalog: Catalog): readonly KnownBody[] => [
  ...Object.values(imageBodies(catalog)).map((schema) => ({ schema })),
  { schema: CreateVideoBodySchema },
]

/** @param quotedPaths every path whose creations can be priced, of every surface */
export function v1Surface(
  deps: Omit<V1Deps, 'foreignMembers'>,
  quotedPaths: () => readonly QuotedPath[],
): Surface {
  return {
    mount: v1,
    endpoints: {
      'v1.videos': '/v1/videos',
      'v1.images.generations': '/v1/images/generations',
      'v1.images.edits': '/v1/images/edits',
      'v1.images.generations.async': '/v1/images/generations/async',
      'v1.images.edits.async': '/v1/images/edits/async',
    },
    bodies: v1Bodies(deps.catalog),
    register: async (app, { foreignMembers }) => {
      modelRoutes(app, deps)
      keyRoute(app, deps)
      await app.register(imagesPlugin({ ...deps, foreignMembers }))
      await app.register(videosPlugin({ ...deps, foreignMembers }))
      await app.register(filesPlugin(deps))
      await app.register(quotePlugin({ quotedPaths: quotedPaths() }))
    },
    quotes: ({ foreignMembers }) => v1QuotedPaths({ ...deps, foreignMembers }),
  }
}

function modelRoutes(instance: FastifyInstance, deps: ModelDeps): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/models', {
    schema: {
      ...describe({
        tag: 'Text',
        operationId: 'listModels',
        summary: 'List the models the token may use',
        ok: ModelListSchema,
        failures: tokenFailures,
      }),
      querystring: ModelsQuerySchema,
    },
    handler: (request) => ({
      object: 'list' as const,
      data: [...listModels(deps, principalOf(request))],
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
      querystring: ModelsQuerySchema,
    },
    handler: (request) => findModel(deps, principalOf(request), request.params.id),
  })
  // An id with an unencoded slash.
  app.get('/models/*', {
    schema: { hide: true, params: LooseModelParamsSchema, querystring: ModelsQuerySchema },
    handler: (request) => findModel(deps, principalOf(request), request.params['*']),
  })
}
