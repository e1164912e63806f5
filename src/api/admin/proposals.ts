import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { proposalStates } from '../../../projections/proposals/query.ts'
import { type ManagedProposals, MAX_TO_DECIDE } from '../../app/accounts/managed-proposals.ts'
import { actorOf, KnownId, Reason, success, successOf } from '../kit/routes/account-surface.ts'
import { cursorMembers, NextCursor, readPage } from '../kit/routes/queries.ts'
import {
  changeFailures,
  accountReadFailures,
  tokenFailures,
} from '../kit/failures/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { adminScopeOf, describeAdmin } from './envelope.ts'
import { ChangedProposalSchema, ProposalSchema, toProposal } from './proposal-answers.ts'
import { TenantParamsSchema } from './schemas.ts'

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

const Count = (description: string) =>
  Type.Integer({ minimum: 0, maximum: MAX_TO_DECIDE, description })
const ToDecideAnswerSchema = successOf(
  Type.Object(
    {
      proposals: Count(
        `Postings, credit limits and settings that other users propose; ${MAX_TO_DECIDE}: so many or more.`,
      ),
      voids: Count(
        `Statements that other users propose to void; ${MAX_TO_DECIDE}: so many or more.`,
      ),
    },
    { named: 'ProposalsToDecide' },
  ),
)

/** Routes of proposals: postings, credit limits and changes of settings that need a second user. */
export function proposalRoutes(
  instance: FastifyInstance,
  { proposals }: Pick<Services['accounts'], 'proposals'>,
): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>()
  const list = describeAdmin({
    operationId: 'listProposals',
    summary: 'List proposed grants, adjustments, credit limits and settings, newest first',
    ok: successOf(Type.Object({ items: Type.Array(ProposalSchema), next_cursor: NextCursor })),
    failures: [...accountReadFailures, 'invalid_cursor', 'tenant_not_found'],
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
  const waiting = describeAdmin({
    operationId: 'countProposalsToDecide',
    summary: 'Count the proposals and voids of other users that wait for a decision of yours',
    ok: ToDecideAnswerSchema,
    failures: [...tokenFailures, 'role_denied'],
  })
  app.get('/proposals/waiting', {
    config: { roles: ['finance'] },
    schema: waiting,
    handler: async (request) =>
      success(await proposals.toDecide(adminScopeOf(request), actorOf(request))),
  })
  const one = describeAdmin({
    operationId: 'getProposal',
    summary: 'Get a proposed grant, adjustment, credit limit or setting',
    ok: successOf(ProposalSchema),
    failures: [...accountReadFailures, 'tenant_not_found', 'proposal_not_found'],
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
  const approve = describeAdmin({
    operationId: 'approveProposal',
    summary: 'Approve a proposal of another user, which posts or sets it (operators only)',
    ok: successOf(ChangedProposalSchema),
    failures: [
      ...decisionFailures,
      'proposal_own',
      'proposal_not_independent',
      'proposal_outdated',
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
  const reject = describeAdmin({
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
