import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { KeyLimits, TokenStatus } from '../../app/access/token-status.ts'
import type { Whose } from '../../app/spending/throttle/limits.ts'
import type { LimitStatus } from '../../app/spending/throttle/rates.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import { BudgetSchema, toBudget } from '../kit/answers/balances.ts'
import { tokenFailures } from '../kit/failures/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { describeV1 } from './documentation.ts'

function ofMinute(status: LimitStatus | undefined) {
  if (status === undefined) return null
  const { limit, remaining, resetMs } = status
  return { limit, used: Math.max(0, limit - remaining), remaining, reset_ms: resetMs }
}

function atATime(limit: number | undefined, used: number | undefined) {
  if (limit === undefined || used === undefined) return null
  return { limit, used, remaining: Math.max(0, limit - used) }
}

function toLimits(limits: KeyLimits | undefined) {
  const { concurrentCalls, concurrentTasks } = limits?.holder.limits ?? {}
  return {
    requests_per_minute: ofMinute(limits?.perMinute.requests),
    tokens_per_minute: ofMinute(limits?.perMinute.tokens),
    concurrent_calls: atATime(concurrentCalls, limits?.calls),
    concurrent_tasks: atATime(concurrentTasks, limits?.tasks),
  }
}

function toKey(key: TokenStatus) {
  const of = (whose: Whose) => key.limits.find(({ holder }) => holder.whose === whose)
  return {
    object: 'key' as const,
    id: key.tokenId,
    name: key.name,
    last_four: key.lastFour,
    tenant_id: key.tenantId,
    user_id: key.userId,
    models: key.models ?? null,
    addresses: key.addresses ?? null,
    created_at: Math.floor(key.issuedAtMs / 1_000),
    expires_at: key.expiresAtMs === undefined ? null : Math.floor(key.expiresAtMs / 1_000),
    refused:
      key.refused === undefined ? null : { code: key.refused.code, message: key.refused.message },
    limits: toLimits(of('token')),
    user_limits: toLimits(of('user')),
    tenant_limits: toLimits(of('tenant')),
  }
}

/** A token sees itself. */
export function keyRoute(app: FastifyInstance, { tokens }: Pick<Services, 'tokens'>): void {
  app.get('/key', {
    schema: describeV1({
      tag: 'Text',
      operationId: 'getKey',
      summary: 'Get the token of the request, with its limits and budgets',
      ok: KeySchema,
      failures: tokenFailures,
    }),
    handler: async (request, reply) => {
      const who = principalOf(request)
      const [key, budgets] = await allSettledOrThrow([tokens.show(who), tokens.budgets(who)])
      void reply.header('cache-control', 'no-store')
      return { ...toKey(key), budgets: budgets.map(toBudget) }
    },
  })
}

const figures = {
  limit: Type.Integer(),
  used: Type.Integer(),
  remaining: Type.Integer(),
}
const PerMinute = Type.Union([
  Type.Object(
    {
      ...figures,
      reset_ms: Type.Integer({
        description: 'Milliseconds until the full limit is available again.',
      }),
    },
    { named: 'RateStatus' },
  ),
  Type.Null(),
])

const AtATime = Type.Union([Type.Object(figures, { named: 'LimitStatus' }), Type.Null()])
const Limits = (description: string) =>
  Type.Object(
    {
      requests_per_minute: PerMinute,
      tokens_per_minute: PerMinute,
      concurrent_calls: AtATime,
      concurrent_tasks: AtATime,
    },
    { named: 'LimitStatuses', description },
  )

/** A token for its holder; an absent limit is null. */
const KeySchema = Type.Object({
  object: Type.Literal('key'),
  id: Type.String({ description: 'Id of the token. The secret is never shown.' }),
  name: Type.String(),
  last_four: Type.String({ description: 'Last four characters of the secret.' }),
  tenant_id: Type.String(),
  user_id: Type.String(),
  models: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'Models that the token may use; null: all.',
  }),
  addresses: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'IP addresses and CIDR ranges that the token may be used from; null: anywhere.',
  }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  expires_at: Type.Union([Type.Integer(), Type.Null()], { description: 'Unix seconds.' }),
  refused: Type.Union(
    [
      Type.Object(
        {
          code: Type.Enum(['tenant_suspended', 'tenant_closed', 'user_suspended']),
          message: Type.String(),
        },
        { named: 'KeyRefusal' },
      ),
      Type.Null(),
    ],
    { description: 'Why its calls and creations are refused; null: they are not.' },
  ),
  limits: Limits('Limits of the token.'),
  user_limits: Limits('Limits of its user, for all tokens of the user together.'),
  tenant_limits: Limits('Limits of its tenant, for all users of the tenant together.'),
  budgets: Type.Array(BudgetSchema, { description: 'Budgets of the token and of its user.' }),
})
