import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { ManagedLimits } from '../../app/spending/throttle/manage.ts'
import {
  type AccountLimits,
  type LimitedSubject,
  MAX_SUBJECTS,
  type SubjectLimits,
} from '../../domain/account/limits.ts'
import { MAX_TOKEN_LIMIT } from '../../domain/token/events.ts'
import { byToken, KnownId, success, successOf } from '../kit/account-surface.ts'
import { changeFailures, readFailures } from '../kit/route-failures.ts'
import { RequestError } from '../kit/request-error.ts'
import { describe } from './documentation.ts'
import { reachOf } from './reach.ts'
import { TenantParamsSchema } from './schemas.ts'

const PATH = '/tenants/:tenant_id/limits'
/** A thousand users, each with an id. */
const BODY_LIMIT_BYTES = 512 * 1024

const strict = { additionalProperties: false } as const
const orNull = (description: string) =>
  Type.Union([Type.Integer({ minimum: 1, maximum: MAX_TOKEN_LIMIT }), Type.Null()], { description })

const subject = Type.Enum(['tenant', 'user'], {
  description: 'All users and tokens of the tenant together, or all tokens of a user.',
})
const figures = {
  requests_per_minute: orNull('Calls and creations of tasks.'),
  tokens_per_minute: orNull('Tokens of text, in and out.'),
  concurrent_calls: orNull('Synchronous calls under way.'),
  concurrent_tasks: orNull('Asynchronous tasks that have not ended.'),
}

const LimitsOfSubject = Type.Object(
  {
    subject,
    user_id: Type.Optional(KnownId),
    requests_per_minute: Type.Optional(figures.requests_per_minute),
    tokens_per_minute: Type.Optional(figures.tokens_per_minute),
    concurrent_calls: Type.Optional(figures.concurrent_calls),
    concurrent_tasks: Type.Optional(figures.concurrent_tasks),
  },
  { ...strict, description: 'What is absent or null is not limited.' },
)

const LimitsBody = Type.Object(
  {
    limits: Type.Array(LimitsOfSubject, { maxItems: MAX_SUBJECTS }),
    expected_revision: Type.Optional(
      Type.Integer({ minimum: 0, description: 'That was looked at, 0 for none.' }),
    ),
  },
  strict,
)

const shown = {
  object: Type.Literal('limits'),
  tenant_id: Type.String(),
  revision: Type.Integer({ description: '0: none were ever set.' }),
  limits: Type.Array(Type.Object({ subject, user_id: Type.Optional(Type.String()), ...figures })),
}

/** How much a tenant and its users may ask at a time. */
export function limitRoutes(instance: FastifyInstance, limits: ManagedLimits): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const get = describe({
    operationId: 'getLimits',
    summary: 'Limits of a tenant and of its users',
    ok: successOf(Type.Object(shown)),
    failures: [...readFailures, 'tenant_not_found'],
  })
  app.get(PATH, {
    schema: { ...get, params: TenantParamsSchema },
    handler: async (request) => {
      const { tenant_id: tenantId } = request.params
      return success(toLimits(tenantId, await limits.show(reachOf(request), tenantId)))
    },
  })
  const put = describe({
    operationId: 'setLimits',
    summary: 'Set all limits of a tenant and of its users; of the tenant itself an operator',
    ok: successOf(Type.Object({ ...shown, changed: Type.Boolean() })),
    failures: [
      ...changeFailures,
      'body_empty',
      'tenant_not_found',
      'user_not_found',
      'limits_invalid',
      'limits_changed',
    ],
  })
  app.put(PATH, {
    bodyLimit: BODY_LIMIT_BYTES,
    schema: { ...put, params: TenantParamsSchema, body: LimitsBody },
    handler: async (request) => {
      const { tenant_id: tenantId } = request.params
      const { limits: said, expected_revision: basis } = request.body
      const wanted = { tenantId, limits: said.map(readLimits), basis }
      const { changed, ...set } = await limits.set(reachOf(request), byToken(request), wanted)
      return success({ ...toLimits(tenantId, set), changed })
    },
  })
}

function readLimits(said: Static<typeof LimitsOfSubject>, index: number): SubjectLimits {
  return {
    subject: readSubject(said, `limits/${index}/user_id`),
    requestsPerMinute: said.requests_per_minute ?? undefined,
    tokensPerMinute: said.tokens_per_minute ?? undefined,
    concurrentCalls: said.concurrent_calls ?? undefined,
    concurrentTasks: said.concurrent_tasks ?? undefined,
  }
}

function readSubject(
  { subject: kind, user_id: userId }: Static<typeof LimitsOfSubject>,
  param: string,
): LimitedSubject {
  if (kind === 'user' && userId !== undefined) return { kind, userId }
  if (kind === 'tenant' && userId === undefined) return { kind }
  const message = kind === 'user' ? 'must say whose' : 'goes with subject user'
  throw new RequestError('parameter_invalid', `${param} ${message}`, param)
}

function toLimits(tenantId: string, { revision, limits }: AccountLimits) {
  return {
    object: 'limits' as const,
    tenant_id: tenantId,
    revision,
    limits: limits.map((one) => ({
      subject: one.subject.kind,
      ...(one.subject.kind === 'user' ? { user_id: one.subject.userId } : {}),
      requests_per_minute: one.requestsPerMinute ?? null,
      tokens_per_minute: one.tokensPerMinute ?? null,
      concurrent_calls: one.concurrentCalls ?? null,
      concurrent_tasks: one.concurrentTasks ?? null,
    })),
  }
}
