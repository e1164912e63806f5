import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { requireOperator } from '../../app/accounts/admin-scope.ts'
import { personOf } from '../../app/accounts/management.ts'
import {
  type CloseInput,
  passableCodes,
  type StatementContext,
} from '../../app/finance/statements/types.ts'
import { pause } from '../../kernel/pause.ts'
import { PeriodSchema, toClosedPeriod } from '../kit/answers/periods.ts'
import { changeFailures } from '../kit/failures/route-failures.ts'
import { actorOf, MonthMember, Reason, success, successOf } from '../kit/routes/account-surface.ts'
import { RequestError } from '../kit/request-error.ts'
import type { Services } from '../kit/services.ts'
import { adminScopeOf, describeAdmin } from './envelope.ts'
import { Currency, TenantParamsSchema } from './schemas.ts'

/** Closing a month: of one account, and of every account that is ready. */

/** A request waits for so long until its month is closed; the close itself goes on. */
const ANSWER_WITHIN_MS = 25_000

const CloseBody = Type.Object(
  {
    month: MonthMember,
    currency: Currency,
    despite: Type.Optional(
      Type.Array(Type.Enum([...passableCodes]), {
        minItems: 1,
        maxItems: passableCodes.length,
        description: 'Closes in spite of these blockers; no others can be passed.',
      }),
    ),
    reason: Type.Optional(Reason),
  },
  {
    named: 'PeriodClose',
    additionalProperties: false,
    examples: [{ month: '2026-11', currency: 'CNY' }],
  },
)

const CloseAllBody = Type.Object(
  { month: MonthMember, currency: Type.Optional(Currency) },
  { named: 'PeriodsClose', additionalProperties: false, examples: [{ month: '2026-11' }] },
)

const ClosedSchema = Type.Object(
  {
    object: Type.Literal('period'),
    ...PeriodSchema.properties,
    changed: Type.Boolean({ description: 'false: the month was closed before.' }),
  },
  { named: 'ClosedPeriod' },
)

const ClosingSchema = Type.Object(
  {
    object: Type.Literal('period'),
    tenant_id: Type.String(),
    month: Type.String(),
    currency: Type.String(),
    state: Type.Literal('closing'),
  },
  { named: 'ClosingPeriod', description: 'The close goes on; the same request again joins it.' },
)

const BatchSchema = Type.Object(
  {
    object: Type.Literal('periods'),
    month: Type.String(),
    closing: Type.Integer({ description: 'Accounts that are closed now, one after the other.' }),
    blocked: Type.Integer({ description: 'Accounts that have a blocker.' }),
  },
  { named: 'ClosingPeriods' },
)

const closeFailures = [...changeFailures, 'body_empty', 'overloaded'] as const

/** The person that closes is recorded in the log. */
function contextOf(request: FastifyRequest): StatementContext {
  const actor = actorOf(request)
  return { correlationId: request.id, actor: actor.tokenId, by: personOf(actor) }
}

type Statements = Services['accounts']['statements']

/** Routes that close months. */
export function periodRoutes(
  instance: FastifyInstance,
  { statements }: Pick<Services['accounts'], 'statements'>,
): void {
  closeRoute(instance, statements)
  closeAllRoute(instance, statements)
}

function closeRoute(instance: FastifyInstance, statements: Statements): void {
  const described = describeAdmin({
    operationId: 'closePeriod',
    summary: 'Close a month of a tenant in one currency (operators only)',
    ok: successOf(ClosedSchema),
    accepted: successOf(ClosingSchema),
    failures: [
      ...closeFailures,
      'tenant_not_found',
      'period_blocked',
      'period_not_next',
      'period_not_over',
      'period_position',
    ],
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().post('/tenants/:tenant_id/periods', {
    config: { roles: ['finance'] },
    schema: { ...described, params: TenantParamsSchema, body: CloseBody },
    handler: async (request, reply) => {
      const of = { tenantId: request.params.tenant_id, ...request.body }
      const done = await closeFor(request, statements, of, { withinMs: ANSWER_WITHIN_MS })
      if (done !== undefined) {
        const { period, created } = done
        return success({ object: 'period' as const, ...toClosedPeriod(period), changed: created })
      }
      const { tenantId, month, currency } = of
      void reply.code(202)
      const state = 'closing' as const
      return success({ object: 'period' as const, tenant_id: tenantId, month, currency, state })
    },
  })
}

/**
 * Closes a month for an operator; undefined where that takes longer than a request waits: it goes on, and the same
 * again joins it. @throws RequestError, DomainError
 */
export async function closeFor(
  request: FastifyRequest,
  statements: Statements,
  of: CloseInput,
  {
    withinMs,
    onLateFailure,
  }: { readonly withinMs: number; readonly onLateFailure?: (error: unknown) => void },
) {
  requireOperator(adminScopeOf(request))
  requireBoth(of)
  const closing = statements.close(of, contextOf(request))
  const done = await withinTime(closing, withinMs)
  if (done !== undefined) return done
  const { tenantId, month, currency } = of
  closing.catch((error: unknown) => {
    request.log.warn({ err: error, tenantId, month, currency }, 'a close failed later')
    onLateFailure?.(error)
  })
  return undefined
}

/** Begins to close all that are ready, for an operator. @throws RequestError, DomainError */
export function closeAllFor(
  request: FastifyRequest,
  statements: Statements,
  input: Parameters<Statements['closeAll']>[0],
) {
  requireOperator(adminScopeOf(request))
  return statements.closeAll(input, contextOf(request))
}

/** @throws RequestError `parameter_invalid` for a reason without a blocker, and the reverse */
function requireBoth({ despite, reason }: CloseInput): void {
  if ((despite === undefined) === (reason === undefined)) return
  throw new RequestError(
    'parameter_invalid',
    'despite and reason are given together: the event of the close has both',
    despite === undefined ? 'despite' : 'reason',
  )
}

/** Waits as long as a request does; undefined where the work takes longer. */
async function withinTime<Done>(work: Promise<Done>, ms: number): Promise<Done | undefined> {
  const ended = new AbortController()
  const late = pause(ms, ended.signal).then(() => undefined)
  return Promise.race([work, late]).finally(() => {
    ended.abort()
  })
}

function closeAllRoute(instance: FastifyInstance, statements: Statements): void {
  const described = describeAdmin({
    operationId: 'closePeriods',
    summary: 'Close a month of every account without a blocker (operators only)',
    accepted: successOf(BatchSchema),
    failures: closeFailures,
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().post('/periods', {
    config: { roles: ['finance'] },
    schema: { ...described, body: CloseAllBody },
    handler: async (request, reply) => {
      const { month } = request.body
      const { closing, blocked } = await closeAllFor(request, statements, request.body)
      void reply.code(202)
      return success({ object: 'periods' as const, month, closing, blocked })
    },
  })
}
