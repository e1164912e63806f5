import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { DecidedVoid } from '../../app/finance/statements/void.ts'
import {
  actorOf,
  MonthMember,
  PersonSchema,
  Reason,
  success,
  successOf,
} from '../kit/routes/account-surface.ts'
import { changeFailures } from '../kit/failures/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { adminScopeOf, describeAdmin } from './envelope.ts'
import { toPerson } from './proposal-answers.ts'
import { Currency, TenantParamsSchema } from './schemas.ts'

const Time = Type.String({ format: 'date-time', description: 'RFC 3339.' })
const PersonOrNull = Type.Union([PersonSchema, Type.Null()], { description: 'null: a shell.' })

const ParamsSchema = Type.Object({
  ...TenantParamsSchema.properties,
  month: MonthMember,
})
const closedBody = { additionalProperties: false } as const
const ReasonedSchema = Type.Object(
  { currency: Currency, reason: Reason },
  {
    named: 'VoidReason',
    ...closedBody,
    examples: [{ currency: 'CNY', reason: 'a refund was dated wrongly' }],
  },
)
const ApprovalSchema = Type.Object(
  { currency: Currency },
  { named: 'VoidApproval', ...closedBody, examples: [{ currency: 'CNY' }] },
)
const VoidAnswerSchema = successOf(
  Type.Object(
    {
      object: Type.Literal('void'),
      tenant_id: Type.String(),
      month: Type.String(),
      currency: Currency,
      statement: Type.String({ description: 'The number of the statement.' }),
      state: Type.Enum(['proposed', 'lapsed', 'voided', 'rejected']),
      reason: Type.String({ description: 'Why it is to be void.' }),
      proposed_by: PersonOrNull,
      proposed_at: Time,
      expires_at: Type.String({
        format: 'date-time',
        description: 'No approval is possible from this time on.',
      }),
      ended_by: PersonOrNull,
      ended_at: Type.Union([Time, Type.Null()]),
      rejection: Type.Union([Type.String(), Type.Null()], { description: 'Why it was rejected.' }),
      changed: Type.Boolean({ description: 'false: it was so before.' }),
    },
    { named: 'Void' },
  ),
)

const voidFailures = [
  ...changeFailures,
  'body_empty',
  'tenant_not_found',
  'period_not_found',
  'period_not_last',
] as const
const decisionFailures = [...voidFailures, 'void_not_proposed', 'proposal_expired'] as const

/** Routes that void the last closed month of a tenant in a currency, which takes two users. */
export function voidRoutes(
  instance: FastifyInstance,
  { voids }: Pick<Services['accounts'], 'voids'>,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const path = '/tenants/:tenant_id/periods/:month/void'
  const propose = describeAdmin({
    operationId: 'proposeVoid',
    summary: 'Propose to void the last closed month of a currency (operators only)',
    accepted: VoidAnswerSchema,
    failures: voidFailures,
  })
  app.post(path, {
    config: { roles: ['finance'] },
    schema: { ...propose, params: ParamsSchema, body: ReasonedSchema },
    handler: async (request, reply) => {
      const input = { ...monthOf(request), reason: request.body.reason }
      const done = await voids.propose(adminScopeOf(request), actorOf(request), input)
      void reply.code(202)
      return success(toVoid(request.params, done))
    },
  })
  const approve = describeAdmin({
    operationId: 'approveVoid',
    summary: 'Void a month that another user proposes to void (operators only)',
    ok: VoidAnswerSchema,
    failures: [...decisionFailures, 'proposal_own', 'proposal_not_independent'],
  })
  app.post(`${path}/approve`, {
    config: { roles: ['finance'] },
    schema: { ...approve, params: ParamsSchema, body: ApprovalSchema },
    handler: async (request) => {
      const done = await voids.approve(adminScopeOf(request), actorOf(request), monthOf(request))
      return success(toVoid(request.params, done))
    },
  })
  const reject = describeAdmin({
    operationId: 'rejectVoid',
    summary: 'Reject or withdraw a proposal to void a month (operators only)',
    ok: VoidAnswerSchema,
    failures: decisionFailures,
  })
  app.post(`${path}/reject`, {
    config: { roles: ['finance'] },
    schema: { ...reject, params: ParamsSchema, body: ReasonedSchema },
    handler: async (request) => {
      const input = { ...monthOf(request), reason: request.body.reason }
      const done = await voids.reject(adminScopeOf(request), actorOf(request), input)
      return success(toVoid(request.params, done))
    },
  })
}

type Params = Static<typeof ParamsSchema>

function monthOf({
  params: { tenant_id: tenantId, month },
  body: { currency },
}: {
  readonly params: Params
  readonly body: Static<typeof ApprovalSchema>
}) {
  return { tenantId, month, currency }
}

function toVoid({ month }: Params, { void: status, changed }: DecidedVoid) {
  const { proposal, end } = status
  const { tenantId, currency, statement, reason, by, proposedAt, expiresAt } = proposal
  const isRejected = end?.type === 'VoidRejected'
  const endedAt = isRejected ? end.data.rejectedAt : end?.data.voidedAt
  return {
    object: 'void' as const,
    tenant_id: tenantId,
    month,
    currency,
    statement,
    state: status.status,
    reason,
    proposed_by: toPerson(by ?? null),
    proposed_at: proposedAt,
    expires_at: expiresAt,
    ended_by: toPerson(end?.data.by ?? null),
    ended_at: endedAt ?? null,
    rejection: isRejected ? end.data.reason : null,
    changed,
  }
}
