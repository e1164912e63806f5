import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Catalog } from '../../domain/catalog/catalog.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { listModels } from '../kit/routes/models.ts'
import type { QuotedPath, Surface } from '../kit/routes/surface.ts'
import { tokenFailures } from '../kit/failures/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { describeV1 } from './documentation.ts'
import { filesPlugin } from './files.ts'
import { imageCalls } from './images/calls.ts'
import { imageTaskSurface } from './images/tasks.ts'
import { keyRoute } from './key.ts'
import {
  LooseModelParamsSchema,
  ModelListQuerySchema,
  ModelListSchema,
  ModelParamsSchema,
  ModelsQuerySchema,
  pageOf,
} from './models.ts'
import { v1 } from './mount.ts'
import { pricedModel, PricedModelSchema, priceFailures, priceRoute } from './prices.ts'
import { quotePlugin } from './quote.ts'
import { videoSurface } from './videos/surface.ts'

/**
 * The routes of `/v1` that belong to no single family: images, videos, files, models and quotes.
 */

/** @param quotedPaths every path whose creations can be priced, of every surface */
export function v1Surfaces(
  catalog: Catalog,
  quotedPaths: (services: Services) => readonly QuotedPath[],
): readonly Surface[] {
  return [
    {
      mount: v1,
      endpoints: {},
      bodies: [],
      register: async (app, services) => {
        modelRoutes(app, services)
        keyRoute(app, services)
        priceRoute(app, services)
        await app.register(filesPlugin(services))
        await app.register(quotePlugin({ quotedPaths: quotedPaths(services) }))
      },
    },
    ...imageCalls(catalog),
    imageTaskSurface(catalog),
    videoSurface(catalog),
  ]
}

function modelRoutes(instance: FastifyInstance, { models }: Pick<Services, 'models'>): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  app.get('/models', {
    schema: {
      ...describeV1({
        tag: 'Text',
        operationId: 'listModels',
        summary: 'List the models that the token may use',
        ok: ModelListSchema,
        failures: [...tokenFailures, 'invalid_request'],
      }),
      querystring: ModelListQuerySchema,
    },
    handler: (request) => pageOf(listModels(models, principalOf(request)), request.query),
  })
  app.get('/models/:id', {
    schema: {
      ...describeV1({
        tag: 'Text',
        operationId: 'getModel',
        summary: 'Show a model and its prices',
        ok: PricedModelSchema,
        failures: priceFailures,
      }),
      params: ModelParamsSchema,
      querystring: ModelsQuerySchema,
    },
    handler: (request) => pricedModel(models, principalOf(request), request.params.id),
  })
  // An id with an unencoded slash.
  app.get('/models/*', {
    schema: { hide: true, params: LooseModelParamsSchema, querystring: ModelsQuerySchema },
    handler: (request) => pricedModel(models, principalOf(request), request.params['*']),
  })
}
