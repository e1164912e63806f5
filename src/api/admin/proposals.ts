import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { type ProposalRow, proposalStates } from '../../../projections/proposals/query.ts'
import type { AdminScope } from '../../app/accounts/admin-scope.ts'
import { type ManagedProposals, MAX_TO_DECIDE } from '../../app/accounts/managed-proposals.ts'
import { actorOf, KnownId, Reason, success, successOf } from '../kit/routes/account-surface.ts'
import { NextCursor } from '../kit/routes/queries.ts'
import {
  changeFailures,
  accountReadFailures,
  tokenFailures,
} from '../kit/failures/route-failures.ts'
import type { Services } from '../kit/services.ts'
import { sendList } from '../kit/answers/lists.ts'
import { adminScopeOf, describeAdmin } from './envelope.ts'
import { ListQuerySchema, listOf } from './lists.ts'
import {
  ChangedProposalSchema,
  proposalColumns,
  ProposalSchema,
  toProposal,
  toProposalRow,
} from './proposal-answers.ts'
import { TenantParamsSchema } from './schemas.ts'

const ProposalsQuerySchema = Type.Object({
  ...ListQuerySchema.properties,
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

/** Proposals that an admin token may see, newest first. @throws DomainError `invalid_cursor`, `tenant_not_found` */
export function readProposals(
  proposals: ManagedProposals,
  scope: AdminScope,
  query: Partial<Static<typeof ProposalsQuerySchema>>,
) {
  const { state, tenant_id: tenantId } = query
  const shownAs = <Row>(show: (row: ProposalRow) => Row) =>
    listOf(
      ['proposals', scope],
      query,
      (page) => proposals.list(scope, { ...page, state, tenantId }),
      ({ proposalId }) => proposalId,
      show,
    )
  const columns =
    scope.kind === 'all'
      ? proposalColumns
      : proposalColumns.filter((name) => name !== 'proposed_by' && name !== 'ended_by')
  return {
    name: 'proposals',
    columns,
    page: shownAs((row) => toProposal(row, scope)).page,
    rows: () => shownAs((row) => toProposalRow(row, scope)).rows(),
    /** The page as the projection has it, for readers within the program. */
    found: shownAs((row) => row).page,
  }
}

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
    csv: true,
  })
  app.get('/proposals', {
    config: { roles: ['finance', 'support'] },
    schema: { ...list, querystring: ProposalsQuerySchema },
    handler: (request, reply) => {
      const { query } = request
      return sendList(request, reply, query, readProposals(proposals, adminScopeOf(request), query))
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
      return success(toProposal(found, adminScopeOf(request)))
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
      return success({ ...toProposal(done.proposal, adminScopeOf(request)), changed: done.changed })
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
      return success({ ...toProposal(done.proposal, adminScopeOf(request)), changed: done.changed })
    },
  })
}

const nameOf = (params: { readonly tenant_id: string; readonly proposal_id: string }) => ({
  tenantId: params.tenant_id,
  proposalId: params.proposal_id,
})
