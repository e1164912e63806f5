import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { CreditRow } from '../../../projections/ledger/query.ts'
import type { Principal } from '../../app/access/principal.ts'
import { proposalIdOf } from '../../domain/account/proposal-state.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { successOf } from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { NextCursor } from '../kit/routes/queries.ts'
import { sendList, wholeList } from '../kit/answers/lists.ts'
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
  proposal_id: TextOrNull(
    'The proposal that it was approved by, and which `actor` approved; null: it was posted at once.',
  ),
  proposed_by_user_id: TextOrNull(
    'The user who proposed it; null for a shell, and for tokens that do not see all tenants.',
  ),
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
  readonly proposalId: string | null
  readonly proposedBy: string | null
}

const whyOf = (credit: ShownCredit) => {
  const { reason, actor, actorUserId, proposalId, proposedBy, postedAtMs, position } = credit
  return {
    reason,
    actor,
    actor_user_id: actorUserId,
    proposal_id: proposalId,
    proposed_by_user_id: proposedBy,
    posted_at: toTimestamp(postedAtMs),
    position,
  }
}

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
export const CreditSumsQuerySchema = Type.Object(accountMembers)
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
    const named = items.map((row) => ({ ...row, proposalId: proposalIdOf(row.tenantId, row.id) }))
    const [proposers, users] = await Promise.all([
      accounts.proposers(named),
      isOperator
        ? accounts.tokenUsers([...new Set(items.flatMap(({ actor }) => actor ?? []))])
        : new Map<string, string>(),
    ])
    const shown = named.map((row) => {
      const proposer = proposers.get(row.proposalId)
      return {
        ...row,
        actor: isOperator ? row.actor : null,
        actorUserId: users.get(row.actor ?? '') ?? null,
        proposalId: proposer === undefined ? null : row.proposalId,
        proposedBy: isOperator ? (proposer?.userId ?? null) : null,
      }
    })
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

const CodeTotalSchema = Type.Object(
  {
    kind: Type.Enum(['grant', 'adjustment']),
    code: TextOrNull(
      'Of grants `paid` or `promotional`; the code of adjustments, null without one.',
    ),
    currency: Type.String({ description: 'Currencies are never added up.' }),
    amount: Type.String({
      description: 'Exact decimal: positive gave to tenants.',
      examples: ['2.5'],
    }),
    postings: Type.Integer({ minimum: 0 }),
  },
  { named: 'CreditSum' },
)

/** Sums of grants and adjustments by code and currency: `credits` of the query API. */
export async function readCreditSums(
  services: Pick<QueryServices, 'queries' | 'clock'>,
  principal: Principal,
  query: Partial<Static<typeof CreditSumsQuerySchema>>,
) {
  requireWholeTenant(principal, 'credits')
  const report = await readReport(services, principal, query)
  const items = await services.queries.accounts.creditSums(report.filter)
  return {
    name: 'credits',
    columns: Object.keys(CodeTotalSchema.properties) as (keyof Static<typeof CodeTotalSchema>)[],
    facts: factsOf(report, query.tz),
    ...wholeList({ items, as_of: String(report.filter.asOf) }),
  }
}

function creditSumsRoute(instance: FastifyInstance, services: QueryServices): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().get('/credits', {
    config: { roles: ['finance'] },
    schema: {
      ...describeQuery({
        operationId: 'sumCredits',
        summary: 'Sum grants, refunds and corrections by code and currency',
        ok: successOf(Type.Object({ items: Type.Array(CodeTotalSchema), as_of: AnsweredAsOf })),
        failures: [...listFailures.filter((code) => code !== 'invalid_cursor'), 'log_unavailable'],
        csv: true,
      }),
      querystring: CreditSumsQuerySchema,
    },
    handler: async (request, reply) => {
      const list = await readCreditSums(services, principalOf(request), request.query)
      return sendList(request, reply, request.query, list)
    },
  })
}

export function queryCreditRoutes(instance: FastifyInstance, services: QueryServices): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  creditSumsRoute(instance, services)
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
