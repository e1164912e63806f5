import { type Static, Type } from 'typebox'
import { managedBudgets } from '../../app/spending/budgets/status.ts'
import { type Budget, type BudgetSubject, MAX_BUDGETS } from '../../domain/account/budgets.ts'
import { KnownId } from '../kit/routes/account-surface.ts'
import { budgetFacts as facts, BudgetSchema, toBudget } from '../kit/answers/balances.ts'
import { RequestError } from '../kit/request-error.ts'
import { changeMembers, settingRoutes } from './settings.ts'

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
    hard: Amount('Decimal string: requests that could exceed it are refused.'),
    soft: Amount('Decimal string: reaching it is logged and counted.'),
  },
  strict,
)

const BudgetsBody = Type.Object(
  {
    time_zone: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'Name of an IANA time zone; absent: unchanged (UTC at first).',
      }),
    ),
    budgets: Type.Array(BudgetBody, { maxItems: MAX_BUDGETS }),
    ...changeMembers,
  },
  {
    ...strict,
    examples: [
      {
        time_zone: 'Europe/Berlin',
        budgets: [
          {
            subject: 'user',
            user_id: 'ann',
            currency: 'CNY',
            period: 'day',
            hard: '20',
            soft: '15',
          },
        ],
      },
    ],
  },
)

/** Routes of the budgets of a tenant, with their spending. */
export const budgetRoutes = settingRoutes({
  setting: managedBudgets,
  path: 'budgets',
  operation: 'Budgets',
  roles: { get: ['finance', 'support'] },
  get: { summary: 'List the budgets of a tenant, its users and tokens, with their spending' },
  put: {
    summary:
      'Replace all budgets of a tenant, its users and tokens; only an operator changes those of the tenant itself',
    bodyLimit: BODY_LIMIT_BYTES,
    body: BudgetsBody,
    failures: ['user_not_found', 'token_not_found', 'amount_invalid'],
  },
  members: {
    time_zone: Type.String({ description: 'Time zone in which days and months begin.' }),
    budgets: Type.Array(BudgetSchema),
  },
  read: ({ time_zone: timeZone, budgets }) => ({ timeZone, budgets: budgets.map(readBudget) }),
  toBody: ({ timeZone, budgets }) => ({ time_zone: timeZone, budgets: budgets.map(toBudget) }),
})

function readBudget(body: Static<typeof BudgetBody>, index: number): Budget {
  const { currency, period, hard, soft } = body
  return {
    subject: readSubject(body, `budgets[${index}]`),
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
    throw new RequestError('parameter_invalid', `${at}.${member} ${message}`, `${at}.${member}`)
  }
  if (userId !== undefined && subject !== 'user')
    refuse('user_id', 'is allowed only with subject user')
  if (tokenId !== undefined && subject !== 'token')
    refuse('token_id', 'is allowed only with subject token')
  switch (subject) {
    case 'tenant':
      return { kind: 'tenant' }
    case 'user':
      return { kind: 'user', userId: userId ?? refuse('user_id', 'is required with subject user') }
    case 'token':
      return {
        kind: 'token',
        tokenId: tokenId ?? refuse('token_id', 'is required with subject token'),
      }
  }
}
