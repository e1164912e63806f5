import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type ProposalRow, proposalStates } from '../../../projections/proposals/query.ts'
import type { ManagedProposals } from '../../app/accounts/managed-proposals.ts'
import { postingIdOf } from '../../domain/account/posting-events.ts'
import { creditKinds, type Person, reasonCodes } from '../../domain/account/postings.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import {
  actorOf,
  KnownId,
  PersonSchema,
  Reason,
  success,
  successOf,
} from '../kit/account-surface.ts'
import { cursorMembers, NextCursor, readPage } from '../kit/queries.ts'
import { changeFailures, readFailures } from '../kit/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { adminScopeOf, describe } from './envelope.ts'
import { Currency, TenantParamsSchema } from './schemas.ts'

const orNull = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) =>
  Type.Union([schema, Type.Null()])
const Time = Type.String({ format: 'date-time', description: 'RFC 3339.' })
const PersonOrNull = Type.Union([PersonSchema, Type.Null()], {
  description: 'Shown to operators only; null: a shell.',
})

const proposal = {
  object: Type.Literal('proposal'),
  id: Type.String(),
  tenant_id: Type.String(),
  state: Type.Enum([...proposalStates]),
  posting: Type.Object(
    {
      object: Type.Enum(['credit_grant', 'adjustment', 'credit_limit']),
      id: Type.String({ description: '`grant_id`, `adjustment_id` or `limit_id`.' }),
      currency: Currency,
      amount: Type.String({ description: 'Of a credit limit: by how much it rises.' }),
      limit: orNull(Type.String({ description: 'The credit limit that it sets.' })),
      limit_before: orNull(Type.String({ description: 'The credit limit when it was proposed.' })),
      line_id: orNull(Type.String({ description: 'The line that it corrects.' })),
      grant_id: orNull(Type.String({ description: 'The grant that it corrects.' })),
      credit: orNull(Type.Enum([...creditKinds])),
      reference: orNull(Type.String()),
      code: orNull(Type.Enum([...reasonCodes])),
      reason: orNull(Type.String({ description: 'A credit limit has none.' })),
    },
    { named: 'ProposedPosting' },
  ),
  proposed_by: Type.Optional(PersonOrNull),
  proposed_at: Time,
  expires_at: Type.String({ format: 'date-time', description: 'It can be approved before.' }),
  ended_by: Type.Optional(PersonOrNull),
  ended_at: orNull(Time),
  reason: orNull(Type.String({ description: 'Why it was rejected.' })),
}
const ProposalSchema = Type.Object(proposal, { named: 'Proposal' })
const ChangedProposalSchema = Type.Object(
  { ...proposal, changed: Type.Boolean({ description: 'false: it was so before.' }) },
  { named: 'ChangedProposal' },
)
/** The answer to a posting that waits for a second user. */
export const ProposedAnswerSchema = {
  ...successOf(ChangedProposalSchema),
  description:
    'More than one person may give alone, or by a token of support: it is proposed, and changes nothing yet.',
}

const ProposalsQuerySchema = Type.Object({
  ...cursorMembers,
  state: Type.Optional(Type.Enum([...proposalStates])),
  tenant_id: Type.Optional(KnownId),
})
const ParamsSchema = Type.Object({ ...TenantParamsSchema.properties, proposal_id: Type.String() })
const RejectionSchema = Type.Object(
  { reason: Reason },
  {
    named: 'Rejection',
    additionalProperties: false,
    examples: [{ reason: 'the invoice is not paid' }],
  },
)

const postedObjects = {
  grant: 'credit_grant',
  adjustment: 'adjustment',
  limit: 'credit_limit',
} as const

/** A proposal as these routes show it; persons are shown to operators only, as in histories. */
export function toProposal(row: ProposalRow, request: FastifyRequest) {
  const { posting } = row
  const { currency, amount } = posting
  const grant = posting.kind === 'grant' ? posting : undefined
  const adjustment = posting.kind === 'adjustment' ? posting : undefined
  const limit = posting.kind === 'limit' ? posting : undefined
  const corrects = adjustment?.corrects
  const persons = { proposed_by: toPerson(row.by), ended_by: toPerson(row.endedBy) }
  return {
    object: 'proposal' as const,
    id: row.proposalId,
    tenant_id: row.tenantId,
    state: row.state,
    posting: {
      object: postedObjects[posting.kind],
      id: postingIdOf(posting),
      currency,
      amount,
      limit: limit?.limit ?? null,
      limit_before: limit?.before ?? null,
      line_id: corrects?.kind === 'line' ? corrects.lineId : null,
      grant_id: corrects?.kind === 'grant' ? corrects.grantId : null,
      credit: grant ? (grant.credit ?? ('paid' as const)) : null,
      reference: grant?.reference ?? null,
      code: adjustment?.code ?? null,
      reason: grant?.reason ?? adjustment?.reason ?? null,
    },
    ...(adminScopeOf(request).kind === 'all' ? persons : {}),
    proposed_at: toTimestamp(row.proposedAtMs),
    expires_at: toTimestamp(row.expiresAtMs),
    ended_at: row.endedAtMs === null ? null : toTimestamp(row.endedAtMs),
    reason: row.reason,
  }
}

const toPerson = (by: Person | null) =>
  by && { tenant_id: by.tenantId, user_id: by.userId, token_id: by.tokenId }

/** Grants, adjustments and credit limits that wait, or waited, for a second user. */
export function proposalRoutes(
  instance: FastifyInstance,
  { proposals }: Pick<Services['accounts'], 'proposals'>,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const list = describe({
    operationId: 'listProposals',
    summary: 'List proposed grants, adjustments and credit limits, newest first',
    ok: successOf(Type.Object({ items: Type.Array(ProposalSchema), next_cursor: NextCursor })),
    failures: [...readFailures, 'invalid_cursor', 'tenant_not_found'],
  })
  app.get('/proposals', {
    config: { roles: ['finance', 'support'] },
    schema: { ...list, querystring: ProposalsQuerySchema },
    handler: async (request) => {
      const { state, tenant_id: tenantId } = request.query
      const scope = adminScopeOf(request)
      const { items, next_cursor } = await readPage(
        ['proposals', scope],
        request.query,
        (page) => proposals.list(scope, { ...page, state, tenantId }),
        ({ proposalId }) => proposalId,
      )
      return success({ items: items.map((row) => toProposal(row, request)), next_cursor })
    },
  })
  const one = describe({
    operationId: 'getProposal',
    summary: 'Get a proposed grant, adjustment or credit limit',
    ok: successOf(ProposalSchema),
    failures: [...readFailures, 'tenant_not_found', 'proposal_not_found'],
  })
  app.get('/tenants/:tenant_id/proposals/:proposal_id', {
    config: { roles: ['finance', 'support'] },
    schema: { ...one, params: ParamsSchema },
    handler: async (request) => {
      const found = await proposals.find(adminScopeOf(request), nameOf(request.params))
      return success(toProposal(found, request))
    },
  })
  decisionRoutes(instance, proposals)
}

/** Failures of every decision about a proposal. */
const decisionFailures = [
  ...changeFailures.filter((code) => code !== 'log_outcome_unknown'),
  'posting_outcome_unknown',
  'tenant_not_found',
  'proposal_not_found',
  'proposal_ended',
  'proposal_expired',
] as const

function decisionRoutes(instance: FastifyInstance, proposals: ManagedProposals): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const approve = describe({
    operationId: 'approveProposal',
    summary: 'Approve a proposal of another user, which posts it (operators only)',
    ok: successOf(ChangedProposalSchema),
    failures: [
      ...decisionFailures,
      'proposal_own',
      'proposal_not_independent',
      'line_not_found',
      'adjustment_out_of_bounds',
      'amount_invalid',
    ],
  })
  app.post('/tenants/:tenant_id/proposals/:proposal_id/approve', {
    config: { roles: ['finance'] },
    schema: { ...approve, params: ParamsSchema },
    handler: async (request) => {
      const name = nameOf(request.params)
      const done = await proposals.approve(adminScopeOf(request), actorOf(request), name)
      return success({ ...toProposal(done.proposal, request), changed: done.changed })
    },
  })
  const reject = describe({
    operationId: 'rejectProposal',
    summary: 'Reject or withdraw a proposal (operators only)',
    ok: successOf(ChangedProposalSchema),
    failures: [...decisionFailures, 'body_empty'],
  })
  app.post('/tenants/:tenant_id/proposals/:proposal_id/reject', {
    config: { roles: ['finance'] },
    schema: { ...reject, params: ParamsSchema, body: RejectionSchema },
    handler: async (request) => {
      const input = { ...nameOf(request.params), reason: request.body.reason }
      const done = await proposals.reject(adminScopeOf(request), actorOf(request), input)
      return success({ ...toProposal(done.proposal, request), changed: done.changed })
    },
  })
}

const nameOf = (params: { readonly tenant_id: string; readonly proposal_id: string }) => ({
  tenantId: params.tenant_id,
  proposalId: params.proposal_id,
})
