import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ProposalRow } from '../../../projections/proposals/query.ts'
import type { ManagedTenants, PostingName } from '../../app/accounts/managed-tenants.ts'
import { actorOf, success } from '../kit/routes/account-surface.ts'
import { toBalanceAccount } from '../kit/answers/balances.ts'
import { changeFailures, accountReadFailures } from '../kit/failures/route-failures.ts'
import { idempotencyKeyOf, PostingKeySchema, REPLAYED } from '../kit/routes/idempotency.ts'
import { RequestError } from '../kit/request-error.ts'
import type { Services } from '../kit/services.ts'
import { describeAdmin, adminScopeOf } from './envelope.ts'
import { ProposedAnswerSchema, toProposal } from './proposal-answers.ts'
import {
  AdjustmentAnswerSchema,
  CreditAnswerSchema,
  CreditLimitAnswerSchema,
  CreditLimitSchema,
  GrantAnswerSchema,
  NewAdjustmentSchema,
  NewGrantSchema,
  TenantParamsSchema,
} from './schemas.ts'

/** Failures of every route that moves money. */
const postingFailures = [
  ...changeFailures.filter((code) => code !== 'log_outcome_unknown'),
  'body_empty',
  'tenant_not_found',
  'amount_invalid',
  'idempotency_key_reused',
  'posting_outcome_unknown',
] as const

/** What a tenant may spend: an operator gives it. */
export function adminCreditRoutes(
  instance: FastifyInstance,
  { tenants, balances }: Pick<Services['accounts'], 'tenants' | 'balances'>,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const get = describeAdmin({
    operationId: 'getCredit',
    summary: 'Get the balance of a tenant, per currency',
    ok: CreditAnswerSchema,
    failures: [...accountReadFailures, 'tenant_not_found'],
  })
  app.get('/tenants/:tenant_id/credit', {
    config: { roles: ['finance'] },
    schema: { ...get, params: TenantParamsSchema },
    handler: async (request) => {
      const { tenantId } = await tenants.find(adminScopeOf(request), request.params.tenant_id)
      const { byTenant, asOf } = await balances([tenantId], undefined)
      return success({
        object: 'credit' as const,
        tenant_id: tenantId,
        accounts: (byTenant.get(tenantId) ?? []).map(toBalanceAccount),
        as_of: asOf === undefined ? null : String(asOf),
      })
    },
  })
  grantRoute(instance, tenants)
  adjustmentRoute(instance, tenants)
  limitRoute(instance, tenants)
}

function grantRoute(instance: FastifyInstance, tenants: ManagedTenants): void {
  const grant = describeAdmin({
    operationId: 'grantCredit',
    summary: 'Grant credit to a tenant (operators only)',
    ok: GrantAnswerSchema,
    accepted: ProposedAnswerSchema,
    failures: [...postingFailures, 'posting_id_taken', 'proposal_ended'],
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().post('/tenants/:tenant_id/credit/grants', {
    config: { roles: ['finance', 'support'] },
    schema: {
      ...grant,
      params: TenantParamsSchema,
      headers: PostingKeySchema,
      body: NewGrantSchema,
    },
    handler: async (request, reply) => {
      const { currency, amount, reason, credit, reference, grant_id: grantId } = request.body
      const { tenant_id: tenantId } = request.params
      const name = postingName(request, 'grant_id', grantId)
      const input = { tenantId, currency, amount, reason, credit, reference, ...name }
      const done = await tenants.grant(adminScopeOf(request), actorOf(request), input)
      const { changed } = done
      markReplayed(reply, name, changed)
      if (done.proposal !== undefined) return answerProposed(request, reply, done)
      const { id } = done
      const object = 'credit_grant' as const
      return success({ object, id, tenant_id: tenantId, currency, amount, changed })
    },
  })
}

function adjustmentRoute(instance: FastifyInstance, tenants: ManagedTenants): void {
  const adjustment = describeAdmin({
    operationId: 'postAdjustment',
    summary: 'Give a part of a settled line back (operators only)',
    ok: AdjustmentAnswerSchema,
    accepted: ProposedAnswerSchema,
    failures: [
      ...postingFailures,
      'adjustment_id_taken',
      'adjustment_out_of_bounds',
      'line_not_found',
      'proposal_ended',
    ],
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().post('/tenants/:tenant_id/adjustments', {
    config: { roles: ['finance', 'support'] },
    schema: {
      ...adjustment,
      params: TenantParamsSchema,
      headers: PostingKeySchema,
      body: NewAdjustmentSchema,
    },
    handler: async (request, reply) => {
      const { line_id: lineId, amount, code, reason, adjustment_id: id } = request.body
      const { tenant_id: tenantId } = request.params
      const name = postingName(request, 'adjustment_id', id)
      const input = { tenantId, lineId, amount, code, reason, ...name }
      const done = await tenants.adjust(adminScopeOf(request), actorOf(request), input)
      markReplayed(reply, name, done.changed)
      if (done.proposal !== undefined) return answerProposed(request, reply, done)
      const object = 'adjustment' as const
      return success({ object, tenant_id: tenantId, line_id: lineId, amount, ...done })
    },
  })
}

function limitRoute(instance: FastifyInstance, tenants: ManagedTenants): void {
  const limit = describeAdmin({
    operationId: 'setCreditLimit',
    summary: 'Set how far below zero a balance may go (operators only)',
    ok: CreditLimitAnswerSchema,
    accepted: ProposedAnswerSchema,
    failures: [...postingFailures, 'limit_id_taken', 'proposal_ended'],
  })
  instance.withTypeProvider<TypeBoxTypeProvider>().put('/tenants/:tenant_id/credit/limit', {
    schema: {
      ...limit,
      params: TenantParamsSchema,
      headers: PostingKeySchema,
      body: CreditLimitSchema,
    },
    handler: async (request, reply) => {
      const { currency, amount, reason, limit_id: limitId } = request.body
      const { tenant_id: tenantId } = request.params
      const name = postingName(request, 'limit_id', limitId)
      const input = { tenantId, currency, limit: amount, reason, ...name }
      const done = await tenants.setLimit(adminScopeOf(request), actorOf(request), input)
      const { changed } = done
      markReplayed(reply, name, changed)
      if (done.proposal !== undefined) return answerProposed(request, reply, done)
      const { id } = done
      const object = 'credit_limit' as const
      return success({ object, id, tenant_id: tenantId, currency, amount, changed })
    },
  })
}

/** Answers that a posting waits for a second user: it is accepted, and moves no money yet. */
function answerProposed(
  request: FastifyRequest,
  reply: FastifyReply,
  { proposal, changed }: { readonly proposal: ProposalRow; readonly changed: boolean },
) {
  void reply.code(202)
  return success({ ...toProposal(proposal, adminScopeOf(request)), changed })
}

/** Id or key of a posting or a note; `once` says of a retry why it has one. @throws RequestError `parameter_invalid` if there is neither */
export function postingName(
  request: FastifyRequest,
  member: string,
  id: string | undefined,
  once = 'moves no money twice',
): PostingName {
  const key = idempotencyKeyOf(request)
  if (key !== undefined) return { id, key }
  if (id !== undefined) return { id, key }
  throw new RequestError(
    'parameter_invalid',
    `Send an Idempotency-Key header or ${member}, so that a retry ${once}`,
    member,
  )
}

/** As on every surface, a header marks the answer to a repeated key. */
export function markReplayed(reply: FastifyReply, { key }: PostingName, changed: boolean): void {
  if (key !== undefined && !changed) void reply.header(REPLAYED, 'true')
}
