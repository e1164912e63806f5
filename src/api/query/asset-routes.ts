import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { success } from '../kit/routes/account-surface.ts'
import { cursorList, sendList } from '../kit/answers/lists.ts'
import {
  AssetParamsSchema,
  AssetsAnswerSchema,
  AssetsQuerySchema,
  GroupsAnswerSchema,
  GroupsQuerySchema,
} from './asset-schemas.ts'
import {
  assetColumns,
  assetPlace,
  groupColumns,
  groupPlace,
  showsAssets,
  showsGroups,
  toAssetSearch,
  toGroupSearch,
} from './assets.ts'
import { describeQuery } from './documentation.ts'
import { assetHistoryFailures, listFailures } from './envelope.ts'
import { readAssetHistory } from './history.ts'
import type { QueryReads } from './reads.ts'
import { HistoryAnswerSchema } from './schemas.ts'

/** Routes of the asset library for support. */
export function assetRoutes(instance: FastifyInstance, reads: QueryReads): void {
  listRoutes(instance, reads)
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/assets/:id/history',
    {
      config: { roles: ['support'] },
      schema: {
        ...describeQuery({
          operationId: 'getAssetHistory',
          summary: 'Get the history of an asset, a group or a verification',
          ok: HistoryAnswerSchema,
          failures: assetHistoryFailures,
        }),
        params: AssetParamsSchema,
      },
    },
    async (request, reply) => {
      const items = await readAssetHistory(reads, principalOf(request), request.params.id)
      void reply.header('cache-control', 'no-store')
      return success({ items })
    },
  )
}

const list = { failures: listFailures, csv: true } as const

function listRoutes(instance: FastifyInstance, reads: QueryReads): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const assets = {
    ...describeQuery({
      ...list,
      operationId: 'listAssets',
      summary: 'List assets, newest first',
      ok: AssetsAnswerSchema,
    }),
    querystring: AssetsQuerySchema,
  }
  app.get('/assets', { config: { roles: ['support'] }, schema: assets }, async (request, reply) => {
    const principal = principalOf(request)
    const search = toAssetSearch(principal, request.query)
    const from = assetPlace(principal, request.query)
    return sendList(request, reply, request.query, {
      name: 'assets',
      columns: assetColumns,
      ...cursorList(from, (page) => reads.listAssets(search, page), showsAssets(principal), {}),
    })
  })
  const groups = {
    ...describeQuery({
      ...list,
      operationId: 'listAssetGroups',
      summary: 'List groups of assets, newest first',
      ok: GroupsAnswerSchema,
    }),
    querystring: GroupsQuerySchema,
  }
  app.get(
    '/asset-groups',
    { config: { roles: ['support'] }, schema: groups },
    async (request, reply) => {
      const principal = principalOf(request)
      const search = toGroupSearch(principal, request.query)
      const from = groupPlace(principal, request.query)
      return sendList(request, reply, request.query, {
        name: 'asset-groups',
        columns: groupColumns,
        ...cursorList(
          from,
          (page) => reads.listAssetGroups(search, page),
          showsGroups(principal),
          {},
        ),
      })
    },
  )
}
