import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { ManagedBudgets } from '../../app/spending/budgets/manage.ts'
import type { StandingBudgets } from '../../app/spending/budgets/standing.ts'
import { type Budget, type BudgetSubject, MAX_BUDGETS } from '../../domain/account/budgets.ts'
import { byToken, KnownId, success, successOf } from '../kit/account-surface.ts'
import { budgetFacts as facts, BudgetSchema, toBudget } from '../kit/balances.ts'
import { changeFailures, readFailures } from '../kit/route-failures.ts'
import { RequestError } from '../kit/request-error.ts'
import { describe } from './documentation.ts'
import { reachOf } from './reach.ts'
import { TenantParamsSchema } from './schemas.ts'

const PATH = '/tenants/:tenant_id/budgets'
/** A thousand budgets, each with an id. */
const BODY_LIMIT_BYTES = 512 * 1024

const strict = { additionalProperties: false } as const
const Amount = (description: string) =>
  Type.Optional(Type.Union([Type.String({ maxLength: 40 }), Type.Null()], { description }))

const BudgetBody = Type.Object(
  {
    ...facts,
    user_id: Type.Optional(KnownId),
    token_id: Type.Optional(KnownId),
    hard: Amount('Decimal string: nothing is started that could go beyond it.'),
    soft: Amount('Decimal string: it is said that it was reached.'),
  },
  strict,
)

const BudgetsBody = Type.Object(
  {
    time_zone: Type.Optional(
      Type.String({ maxLength: 64, description: 'IANA; absent: as it is, UTC at first.' }),
    ),
    budgets: Type.Array(BudgetBody, { maxItems: MAX_BUDGETS }),
    expected_revision: Type.Optional(
      Type.Integer({ minimum: 0, description: 'That was looked at, 0 for none.' }),
    ),
  },
  strict,
)

const standing = {
  object: Type.Literal('budgets'),
  tenant_id: Type.String(),
  revision: Type.Integer({ description: '0: none were ever set.' }),
  time_zone: Type.String({ description: 'By whose days and months.' }),
  budgets: Type.Array(BudgetSchema),
}

/** How much may be spent, and how much was. */
export function budgetRoutes(instance: FastifyInstance, budgets: ManagedBudgets): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const get = describe({
    operationId: 'getBudgets',
    summary: 'Budgets of a tenant, its users and tokens, and how they stand',
    ok: successOf(Type.Object(standing)),
    failures: [...readFailures, 'tenant_not_found'],
  })
  app.get(PATH, {
    schema: { ...get, params: TenantParamsSchema },
    handler: async (request) =>
      success(toBudgets(await budgets.show(reachOf(request), request.params.tenant_id))),
  })
  const put = describe({
    operationId: 'setBudgets',
    summary: 'Set all budgets of a tenant, its users and tokens; of the tenant itself an operator',
    ok: successOf(Type.Object({ ...standing, changed: Type.Boolean() })),
    failures: [
      ...changeFailures,
      'body_empty',
      'tenant_not_found',
      'user_not_found',
      'token_not_found',
      'amount_invalid',
      'budgets_invalid',
      'budgets_changed',
    ],
  })
  app.put(PATH, {
    bodyLimit: BODY_LIMIT_BYTES,
    schema: { ...put, params: TenantParamsSchema, body: BudgetsBody },
    handler: async (request) => {
      const { time_zone: timeZone, budgets: said, expected_revision: basis } = request.body
      const { changed, ...set } = await budgets.set(reachOf(request), byToken(request), {
        tenantId: request.params.tenant_id,
        timeZone,
        budgets: said.map(readBudget),
        basis,
      })
      return success({ ...toBudgets(set), changed })
    },
  })
}

function readBudget(said: Static<typeof BudgetBody>, index: number): Budget {
  const { currency, period, hard, soft } = said
  return {
    subject: readSubject(said, `budgets/${index}`),
    currency,
    period,
    ...(hard === undefined || hard === null ? {} : { hard }),
    ...(soft === undefined || soft === null ? {} : { soft }),
  }
}

function readSubject(
  { subject, user_id: userId, token_id: tokenId }: Static<typeof BudgetBody>,
  at: string,
): BudgetSubject {
  const refuse = (member: string, message: string): never => {
    throw new RequestError('parameter_invalid', `${at}/${member} ${message}`, `${at}/${member}`)
  }
  if (userId !== undefined && subject !== 'user') refuse('user_id', 'goes with subject user')
  if (tokenId !== undefined && subject !== 'token') refuse('token_id', 'goes with subject token')
  switch (subject) {
    case 'tenant':
      return { kind: 'tenant' }
    case 'user':
      return { kind: 'user', userId: userId ?? refuse('user_id', 'must say whose') }
    case 'token':
      return { kind: 'token', tokenId: tokenId ?? refuse('token_id', 'must say which') }
  }
}

function toBudgets({ tenantId, revision, timeZone, budgets }: StandingBudgets) {
  return {
    object: 'budgets' as const,
    tenant_id: tenantId,
    revision,
    time_zone: timeZone,
    budgets: budgets.map(toBudget),
  }
}
