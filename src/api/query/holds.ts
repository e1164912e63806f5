import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Principal } from '../../app/access/principal.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { sendList, wholeList } from '../kit/answers/lists.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import { accountMembers, factsOf, readReport } from './report-query.ts'
import { AnsweredAsOf, Decimal } from './schemas.ts'
import { requireWholeTenant } from './scope.ts'
import type { QueryServices } from './services.ts'

/** Holds of running tasks: for which task, how much, and since when. */

/** Holds of one answer: the oldest come first, so that those that stay too long are always there. */
const MAX_HOLDS = 1_000

const { tenant_id, currency, tz, format, bom } = accountMembers
export const HoldsQuerySchema = Type.Object({ tenant_id, currency, tz, format, bom })

const HoldSchema = Type.Object(
  {
    tenant_id: Type.String(),
    source_id: Type.String({ description: 'The task, of which `lives/{id}` shows all.' }),
    currency: Type.String(),
    amount: Decimal,
    placed_at: Type.String({ description: 'RFC 3339.' }),
  },
  { named: 'Hold' },
)
type ShownHold = Static<typeof HoldSchema>

const HoldsAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(HoldSchema, { description: `Oldest first, at most ${MAX_HOLDS}.` }),
    total: Type.Integer({ minimum: 0, description: 'The number of all of them.' }),
    as_of: AnsweredAsOf,
  }),
)

/** Money that is held for tasks, the oldest first: `holds` of the query API. */
export async function readHolds(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: Partial<Static<typeof HoldsQuerySchema>>,
) {
  requireWholeTenant(principal, 'holds')
  const report = await readReport(services, principal, query)
  const { tenantId, currency: of } = report.filter
  const asked = { tenantId, currency: of, limit: MAX_HOLDS }
  const { holds, total } = await services.queries.accounts.holds(asked)
  const items = holds.map((hold): ShownHold => ({
    tenant_id: hold.tenantId,
    source_id: hold.sourceId,
    currency: hold.currency,
    amount: hold.amount,
    placed_at: toTimestamp(hold.placedAtMs),
  }))
  return {
    name: 'holds',
    columns: Object.keys(HoldSchema.properties) as (keyof ShownHold)[],
    facts: factsOf(report, query.tz),
    ...wholeList({ items, total, as_of: String(report.filter.asOf) }),
  }
}

/** Money that is held for tasks. */
export function holdsRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get(
    '/holds',
    {
      config: { roles: ['finance'] },
      schema: {
        ...describeQuery({
          operationId: 'listHolds',
          summary: 'List what is held for running tasks, oldest first',
          ok: HoldsAnswerSchema,
          failures: [
            ...listFailures.filter((code) => code !== 'invalid_cursor'),
            'log_unavailable',
          ],
          csv: true,
        }),
        querystring: HoldsQuerySchema,
      },
    },
    async (request, reply) => {
      const list = await readHolds(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  )
}
