import { countVoidsToDecide } from '../../../projections/statements/query.ts'
import {
  countToDecide,
  listProposals,
  type ProposalRow,
  type ProposalState,
} from '../../../projections/proposals/query.ts'
import type { ApprovalOrigins } from '../../domain/account/independence.ts'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { DomainError } from '../../kernel/errors.ts'
import { readAccountState } from './account-state.ts'
import { type AdminScope, requireOperator } from './admin-scope.ts'
import { type DecidedProposal, decideProposal, toProposalRow } from './credit.ts'
import { originOf, personWithIssuers } from './known-token.ts'
import { findTenant, lineOf } from './managed-tenants.ts'
import { type Actor, depsOf, type ManagementDeps, personOf, shown } from './management.ts'
import { requireCaughtUp } from '../read-models/catch-up.ts'

interface ProposalName {
  readonly tenantId: string
  readonly proposalId: string
}

/**
 * Proposals of grants, adjustments and credit limits, by the bearer of an admin token. A proposal of a tenant
 * outside the token's scope is `tenant_not_found` (P8). Administrators of a tenant see its own;
 * operators decide them, `scope_denied` for others.
 */
export interface ManagedProposals {
  /** Newest first; of one tenant or of all that the scope has. */
  readonly list: (
    adminScope: AdminScope,
    page: {
      readonly tenantId?: string | undefined
      readonly state?: ProposalState | undefined
      /** Id of the last one on the page before. */
      readonly after: string | undefined
      readonly limit: number
    },
  ) => Promise<readonly ProposalRow[]>
  /**
   * How many proposals and voids of other users wait for a decision of this one, as the read models have them; none
   * for others than operators.
   */
  readonly toDecide: (
    adminScope: AdminScope,
    by: Pick<Actor, 'tenantId' | 'userId'>,
  ) => Promise<ToDecide>
  /** A proposal as the log has it. @throws DomainError `proposal_not_found` */
  readonly find: (adminScope: AdminScope, name: ProposalName) => Promise<ProposalRow>
  /**
   * Makes the posting, in one append with its approval; a repetition by the same user changes
   * nothing. @throws DomainError of the account decider, `line_not_found`
   */
  readonly approve: (adminScope: AdminScope, by: Actor, name: ProposalName) => Promise<Decided>
  /** A repetition by the same user with the same reason changes nothing. */
  readonly reject: (
    adminScope: AdminScope,
    by: Actor,
    input: ProposalName & { readonly reason: string },
  ) => Promise<Decided>
}

/** Counts of what waits for the decision of a user, each up to `MAX_TO_DECIDE`. */
export interface ToDecide {
  readonly proposals: number
  readonly voids: number
}

/** More of them are no longer counted. */
export const MAX_TO_DECIDE = 100

/** `changed` is false where the proposal was decided so before. */
type Decided = Pick<DecidedProposal, 'proposal' | 'changed'>

/**
 * Who is behind the tokens of an approval and of its proposal.
 * @throws DomainError `scope_denied` where the token of the approval is not in the log
 */
export async function originsOf(
  { log }: ManagementDeps,
  { tokenId }: Actor,
  proposedBy: ProposalRow['by'],
): Promise<ApprovalOrigins> {
  const [approver, proposer] = await allSettledOrThrow([
    originOf(log, tokenId),
    proposedBy === null ? undefined : originOf(log, proposedBy.tokenId),
  ])
  if (approver === undefined)
    throw new DomainError('scope_denied', 'The token of this request does not exist', {})
  return { approver, proposer }
}

/** @throws the codes of the account decider, of the log and of the database; `read_model_behind` */
export function createManagedProposals(deps: ManagementDeps): ManagedProposals {
  const { db, clock } = deps
  const find = async (adminScope: AdminScope, { tenantId, proposalId }: ProposalName) => {
    await findTenant(deps, adminScope, tenantId)
    const { proposals } = await readAccountState(deps, tenantId)
    const proposal = proposals.get(proposalId)
    if (proposal !== undefined) return toProposalRow(proposal, clock.nowMs())
    throw new DomainError('proposal_not_found', 'The tenant has no such proposal', {})
  }
  const decide = async (
    by: Actor,
    decision: Parameters<typeof decideProposal>[1],
  ): Promise<Decided> => {
    const { proposal, changed, position } = await decideProposal(depsOf(deps, by), decision)
    await allSettledOrThrow([
      shown(deps, 'proposals', position),
      ...(decision.kind === 'approve' ? [shown(deps, 'ledger', position)] : []),
    ])
    return { proposal, changed }
  }
  return {
    find,
    list: async (adminScope, { tenantId: asked, ...page }) => {
      const own = adminScope.kind === 'all' ? undefined : adminScope.tenantId
      const tenantId = asked ?? own
      if (tenantId !== undefined) await findTenant(deps, adminScope, tenantId)
      await requireCaughtUp(deps, 'proposals')
      return listProposals(db, { ...page, tenantId, nowMs: clock.nowMs() })
    },
    toDecide: async (adminScope, { tenantId, userId }) => {
      if (adminScope.kind !== 'all') return { proposals: 0, voids: 0 }
      const of = { tenantId, userId, nowMs: clock.nowMs(), atMost: MAX_TO_DECIDE }
      const [proposals, voids] = await allSettledOrThrow([
        countToDecide(db, of),
        countVoidsToDecide(db, of),
      ])
      return { proposals, voids }
    },
    approve: async (adminScope, by, { tenantId, proposalId }) => {
      requireOperator(adminScope)
      const { posting, by: proposedBy } = await find(adminScope, { tenantId, proposalId })
      const lineId =
        posting.kind === 'adjustment' && posting.corrects.kind === 'line'
          ? posting.corrects.lineId
          : undefined
      const line = lineId === undefined ? undefined : await lineOf(deps, tenantId, lineId)
      const origins = await originsOf(deps, by, proposedBy)
      const person = await personWithIssuers(deps.log, by)
      const approval = { kind: 'approve', tenantId, proposalId, by: person } as const
      return decide(by, { ...approval, origins, line })
    },
    reject: async (adminScope, by, { tenantId, proposalId, reason }) => {
      requireOperator(adminScope)
      await find(adminScope, { tenantId, proposalId })
      return decide(by, { kind: 'reject', tenantId, proposalId, by: personOf(by), reason })
    },
  }
}
