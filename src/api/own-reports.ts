import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { DomainError } from '../kernel/errors.ts'
import { principalOf, useQueryBounds } from './kit/tokens/authenticate.ts'
import type { FailureCode } from './kit/failures/failure-table.ts'
import { RequestError } from './kit/request-error.ts'
import { accountReadFailures } from './kit/failures/route-failures.ts'
import type { Services } from './kit/services.ts'
import type { Surface } from './kit/routes/surface.ts'
import { readNames } from './query/known-names.ts'
import { readReceipt } from './query/receipts/route.ts'
import { ReceiptParamsSchema, ReceiptQuerySchema, ReceiptSchema } from './query/receipts/schemas.ts'
import type { Queries } from './query/services.ts'
import { readTimeRange } from './query/time-range.ts'
import { readUsage, UsageSchema, usageQuerySchema } from './query/usage.ts'
import { describeV1 } from './v1/documentation.ts'
import { v1 } from './v1/mount.ts'

/** A caller's own usage and receipts: of the token that asks, by the reports that finance has. */

type OwnServices = Services & { readonly queries: Queries }

const DAY_MS = 86_400_000
const MAX_DAYS = 92
/** The range where a caller names none. */
const USUAL_RANGE = '30d'

/** The token says whose usage is read, and a page has all of it. */
function ownUsageQuery(surfaceNames: readonly string[]) {
  const {
    tenant_id: _tenant,
    user_id: _user,
    token_id: _token,
    since: _since,
    format: _format,
    bom: _bom,
    ...own
  } = usageQuerySchema(surfaceNames).properties
  return Type.Object(own)
}

const OwnUsageSchema = Type.Object({
  object: Type.Literal('usage'),
  ...UsageSchema.properties,
})

const reportFailures: readonly FailureCode[] = [...accountReadFailures, 'query_too_long']

/** Usage and receipts of the token that asks. They are free, and have the pace of queries. */
export function ownReports(queries: Queries): Surface {
  return {
    mount: v1,
    endpoints: {},
    bodies: [],
    register: async (app, services) => {
      // Only these routes of the mount have this pace, so they have another context.
      await app.register((own, _options, done) => {
        useQueryBounds(own, services)
        usageRoute(own, { ...services, queries })
        receiptRoute(own, { queries })
        done()
      })
    },
  }
}

function usageRoute(instance: FastifyInstance, services: OwnServices): void {
  const { clock, models, queries, http } = services
  instance.withTypeProvider<TypeBoxTypeProvider>().get('/usage', {
    schema: {
      ...describeV1({
        tag: 'Text',
        operationId: 'getOwnUsage',
        summary: 'Get what the token used, by model, time and others, net of refunds',
        ok: OwnUsageSchema,
        failures: [...reportFailures, 'invalid_request'],
      }),
      querystring: ownUsageQuery(Object.keys(http.endpoints)),
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const { tenantId, tokenId } = principal
      const asked = { ...request.query, tenant_id: tenantId, token_id: tokenId }
      const { from, to, time_preset: preset } = asked
      const query =
        from === undefined && to === undefined && preset === undefined
          ? { ...asked, time_preset: USUAL_RANGE as typeof USUAL_RANGE }
          : asked
      requireShortRange(readTimeRange(query, clock.nowMs()), clock.nowMs())
      await readNames({ catalog: models.catalog, lookups: queries.knownNames }, principal, query)
      const list = await readUsage(services, principal, query)
      void reply.header('cache-control', 'no-store')
      return { object: 'usage' as const, ...(await list.page()) }
    },
  })
}

function requireShortRange(
  { fromMs, toMs }: ReturnType<typeof readTimeRange>,
  nowMs: number,
): void {
  if (fromMs !== undefined && (toMs ?? nowMs) - fromMs <= MAX_DAYS * DAY_MS) return
  throw new RequestError(
    'parameter_invalid',
    `from must be given, and the range must be at most ${MAX_DAYS} days`,
    'from',
  )
}

function receiptRoute(instance: FastifyInstance, { queries }: Pick<OwnServices, 'queries'>): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get('/receipts/:id', {
    schema: {
      ...describeV1({
        tag: 'Text',
        operationId: 'getOwnReceipt',
        summary: 'Get what a request of the token cost, and why',
        ok: ReceiptSchema,
        failures: [...reportFailures, 'invalid_request', 'receipt_not_found'],
      }),
      params: ReceiptParamsSchema,
      querystring: ReceiptQuerySchema,
    },
    handler: async (request, reply) => {
      const principal = principalOf(request)
      const { params, query } = request
      const receipt = await readReceipt(queries.reads, principal, params.id, query.as_of)
      // Another token of the same user reads as a missing one.
      if (receipt.token_id !== principal.tokenId)
        throw new DomainError('receipt_not_found', 'no such task, call or line', {})
      void reply.header('cache-control', 'no-store')
      return receipt
    },
  })
}
