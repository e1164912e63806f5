import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { principalOf } from '../kit/authenticate.ts'
import { modelFailures } from '../kit/call-failures.ts'
import type { QuotedPath, Surface } from '../kit/surface.ts'
import { tokenFailures } from '../kit/route-failures.ts'
import { describe } from './documentation.ts'
import { type FileRouteDeps, filesPlugin } from './files.ts'
import { type ImageCallDeps, imageCalls } from './images/calls.ts'
import { type ImageTaskSurfaceDeps, imageTaskSurface } from './images/tasks.ts'
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
import { quotePlugin } from './quote.ts'
import { type VideoSurfaceDeps, videoSurface } from './videos/surface.ts'

/**
 * The routes of `/v1` that belong to no single family: images, videos, files, models and quotes.
 */

interface V1Deps
  extends
    ImageCallDeps,
    ImageTaskSurfaceDeps,
    VideoSurfaceDeps,
    FileRouteDeps,
    KeyRouteDeps,
    ModelDeps {}

/** @param quotedPaths every path whose creations can be priced, of every surface */
export function v1Surfaces(
  deps: V1Deps,
  quotedPaths: () => readonly QuotedPath[],
): readonly Surface[] {
  return [
    {
      mount: v1,
      endpoints: {},
      bodies: [],
      register: async (app) => {
        modelRoutes(app, deps)
        keyRoute(app, deps)
        await app.register(filesPlugin(deps))
        await app.register(quotePlugin({ quotedPaths: quotedPaths() }))
      },
    },
    ...imageCalls(deps),
    imageTaskSurface(deps),
    videoSurface(deps),
  ]
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
