import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { CreditRow } from '../../../projections/ledger/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { NextCursor } from '../kit/routes/queries.ts'
import { sendList } from './answers.ts'
import { describeQuery } from './documentation.ts'
import { listFailures } from './envelope.ts'
import {
  accountMembers,
  factsOf,
  placeOf,
  positionedList,
  readReport,
  reportMembers,
} from './report-query.ts'
import { AnsweredAsOf, Cursor, Decimal, Limit, TextOrNull } from './schemas.ts'
import { requireWholeTenant, visibleTo } from './scope.ts'
import type { QueryServices } from './services.ts'

/** The grants and the adjustments of tenants, one by one: who posted what, and why. */

const whyMembers = {
  reason: Type.String(),
  actor: TextOrNull(
    'Who posted it: a token, or the name at a shell. For tokens that see all tenants, otherwise null.',
  ),
  actor_user_id: TextOrNull('User of that token; null for a shell.'),
  posted_at: Type.String({ description: 'RFC 3339.' }),
  position: Type.String({ description: 'Position in the log.' }),
} as const

const GrantSchema = Type.Object(
  {
    grant_id: Type.String(),
    tenant_id: Type.String(),
    currency: Type.String(),
    amount: Decimal,
    credit: Type.String({ description: '`paid` or `promotional`.' }),
    reference: TextOrNull('The invoice or payment that it stands for.'),
    ...whyMembers,
  },
  { named: 'Grant' },
)

const AdjustmentSchema = Type.Object(
  {
    adjustment_id: Type.String(),
    tenant_id: Type.String(),
    currency: Type.String(),
    amount: Type.String({
      description: 'Exact decimal: positive gave to the tenant.',
      examples: ['2.5'],
    }),
    line_id: TextOrNull('The adjusted line; null: it adjusts a grant.'),
    grant_id: TextOrNull('The adjusted grant; null: it adjusts a line.'),
    user_id: TextOrNull('User of the line.'),
    model: TextOrNull('Model of the line.'),
    sku: TextOrNull('SKU of the line.'),
    code: TextOrNull('Why, as one of a few words.'),
    ...whyMembers,
  },
  { named: 'PostedAdjustment' },
)

type Shown<Schema extends typeof GrantSchema | typeof AdjustmentSchema> = Static<Schema>

/** A credit, and who posted it as far as the token may see that. */
interface ShownCredit extends CreditRow {
  readonly actorUserId: string | null
}

const whyOf = ({ reason, actor, actorUserId, postedAtMs, position }: ShownCredit) => ({
  reason,
  actor,
  actor_user_id: actorUserId,
  posted_at: toTimestamp(postedAtMs),
  position,
})

const shownGrant = (row: ShownCredit): Shown<typeof GrantSchema> => ({
  grant_id: row.id,
  tenant_id: row.tenantId,
  currency: row.currency,
  amount: row.amount,
  credit: row.credit ?? 'paid',
  reference: row.reference,
  ...whyOf(row),
})

const shownAdjustment = (row: ShownCredit): Shown<typeof AdjustmentSchema> => ({
  adjustment_id: row.id,
  tenant_id: row.tenantId,
  currency: row.currency,
  amount: row.amount,
  line_id: row.lineId,
  grant_id: row.grantId,
  user_id: row.userId,
  model: row.model,
  sku: row.sku,
  code: row.code,
  ...whyOf(row),
})

const answerOf = <Schema extends typeof GrantSchema | typeof AdjustmentSchema>(schema: Schema) =>
  successOf(
    Type.Object({ items: Type.Array(schema), next_cursor: NextCursor, as_of: AnsweredAsOf }),
  )

const pageMembers = { cursor: Cursor, limit: Limit }
export const GrantsQuerySchema = Type.Object({ ...accountMembers, ...pageMembers })
export const adjustmentsQuerySchema = (surfaceNames: readonly string[]) =>
  Type.Object({ ...reportMembers(surfaceNames), ...pageMembers })
type CreditsQuery = Partial<Static<ReturnType<typeof adjustmentsQuerySchema>>>

/** A page begins behind a position. */
const isPosition = (text: string): boolean => /^\d{1,18}$/.test(text)

async function readCredits<Row>(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: CreditsQuery,
  list: {
    readonly kind: CreditRow['kind']
    readonly name: string
    readonly columns: readonly (keyof Row & string)[]
    readonly show: (row: ShownCredit) => Row
  },
) {
  const visible = visibleTo(principal)
  const { asOf, ...place } = placeOf([list.name, visible], query, isPosition)
  const report = await readReport(services, principal, { ...query, ...(asOf && { as_of: asOf }) })
  const { accounts } = services.queries
  const isOperator = visible.tenantId === undefined
  const read = async (page: { readonly after: string | undefined; readonly limit: number }) => {
    const { items, next } = await accounts.credits({ ...report.filter, kinds: [list.kind] }, page)
    if (!isOperator)
      return { items: items.map((row) => ({ ...row, actor: null, actorUserId: null })), next }
    const users = await accounts.tokenUsers([...new Set(items.flatMap(({ actor }) => actor ?? []))])
    const shown = items.map((row) => ({ ...row, actorUserId: users.get(row.actor ?? '') ?? null }))
    return { items: shown, next }
  }
  const pages = positionedList({ ...place, limit: query.limit }, report, read, list.show)
  const { name, columns } = list
  return { name, columns, ...pages, facts: factsOf(report, query.tz) }
}

/** Credit that was given, newest first: `grants` of the query API. */
export function readGrants(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: Partial<Static<typeof GrantsQuerySchema>>,
) {
  requireWholeTenant(principal, 'grants')
  return readCredits(services, principal, query, {
    kind: 'grant',
    name: 'grants',
    columns: Object.keys(GrantSchema.properties) as (keyof Shown<typeof GrantSchema>)[],
    show: shownGrant,
  })
}

/** Refunds of lines and corrections of grants, newest first: `adjustments` of the query API. */
export function readAdjustments(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: CreditsQuery,
) {
  return readCredits(services, principal, query, {
    kind: 'adjustment',
    name: 'adjustments',
    columns: Object.keys(AdjustmentSchema.properties) as (keyof Shown<typeof AdjustmentSchema>)[],
    show: shownAdjustment,
  })
}

export function queryCreditRoutes(instance: FastifyInstance, services: QueryServices): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const documented = { failures: [...listFailures, 'log_unavailable'], csv: true } as const
  app.get('/grants', {
    config: { roles: ['finance'] },
    schema: {
      ...describeQuery({
        operationId: 'listGrants',
        summary: 'List the credit that was given, newest first',
        ok: answerOf(GrantSchema),
        ...documented,
      }),
      querystring: GrantsQuerySchema,
    },
    handler: async (request, reply) => {
      const list = await readGrants(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  })
  app.get('/adjustments', {
    config: { roles: ['finance'] },
    schema: {
      ...describeQuery({
        operationId: 'listAdjustments',
        summary: 'List refunds of lines and corrections of grants, newest first',
        ok: answerOf(AdjustmentSchema),
        ...documented,
      }),
      querystring: adjustmentsQuerySchema(Object.keys(services.http.endpoints)),
    },
    handler: async (request, reply) => {
      const list = await readAdjustments(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  })
}
