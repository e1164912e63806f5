import type { Command } from 'commander'
import {
  listProposals,
  type ProposalRow,
  proposalStates,
} from '../../projections/proposals/query.ts'
import { decideProposal } from '../app/accounts/credit.ts'
import { changeInWords, isSettingChange } from '../domain/account/setting-changes.ts'
import { systemClock, toTimestamp } from '../kernel/clock.ts'
import { note, print, show, table, toJson, UsageError } from './output.ts'
import type { Session } from './session.ts'
import {
  type ActorOption,
  changing,
  depsOf,
  JSON_OPTION,
  LIST_LIMIT,
  oneOf,
  onStores,
} from './command.ts'

const APPROVE_HELP = `
A proposal is a grant, an adjustment or a credit limit above what one person may give alone (tollgate approvals), or a lower price or
higher approvals where these are set. A shell can reject a proposal. It cannot approve one, because it does not say which user it is: a
user other than the proposer approves it over HTTP, with an operator's admin token:

  POST /api/admin/tenants/<tenant>/proposals/<proposal>/approve`

interface OfTenant {
  readonly tenant: string
  readonly json?: boolean
}

/** Registers `tollgate credit proposals` and `tollgate credit reject`. */
export function addProposals(command: (name: string) => Command): void {
  command('proposals')
    .description(
      'proposed grants, adjustments, credit limits and settings of a tenant, newest first',
    )
    .option('--state <state>', proposalStates.join(', '))
    .option(...JSON_OPTION)
    .addHelpText('after', APPROVE_HELP)
    .action(onStores(listCommand))
  changing(command('reject'))
    .description('reject a proposed grant, adjustment, credit limit or setting')
    .argument('<proposal>', 'id of the proposal')
    .requiredOption('--reason <text>', 'why')
    .addHelpText('after', APPROVE_HELP)
    .action(onStores(rejectCommand))
}

/** `tollgate credit proposals` */
async function listCommand(
  { pool, caughtUp }: Session,
  options: OfTenant & { readonly state?: string },
): Promise<void> {
  const state = oneOf('--state', proposalStates, options.state)
  await caughtUp('proposals')
  const page = { tenantId: options.tenant, state, nowMs: systemClock.nowMs(), limit: LIST_LIMIT }
  const found = await listProposals(pool, page)
  if (options.json) return print(toJson(found))
  const rows = found.map((row) => [
    toTimestamp(row.proposedAtMs),
    row.proposalId,
    row.state,
    row.posting.kind,
    isSettingChange(row.posting) ? '' : row.posting.amount,
    isSettingChange(row.posting) ? '' : row.posting.currency,
    row.by?.userId ?? 'shell',
    toTimestamp(row.expiresAtMs),
    whyOf(row.posting),
  ])
  const columns = ['proposed', 'proposal', 'state', 'kind', 'amount', 'currency', 'by', 'until']
  for (const line of table([...columns, 'reason'], rows)) print(line)
}

function whyOf(posting: ProposalRow['posting']): string {
  if (isSettingChange(posting)) return changeInWords(posting)
  if (posting.kind !== 'limit') return posting.reason
  const { before, limit, reason } = posting
  return [`${before} to ${limit}`, reason].filter(Boolean).join(': ')
}

/** `tollgate credit reject`: repeated with the same reason it changes nothing. */
async function rejectCommand(
  session: Session,
  proposalId: string,
  options: OfTenant & ActorOption & { readonly reason: string },
): Promise<void> {
  const { tenant: tenantId } = options
  const reason = options.reason.trim()
  if (reason === '') throw new UsageError('--reason must not be empty')
  const decision = { kind: 'reject', tenantId, proposalId, reason } as const
  const { changed, position, proposal } = await decideProposal(depsOf(session, options), decision)
  if (!changed) note('it was already rejected')
  show({ proposalId, state: proposal.state }, options.json)
  await session.projected('proposals', position)
}

/** Shows that a posting or a setting is proposed, and how it is approved. */
export async function showProposed(
  session: Session,
  options: { readonly json?: boolean },
  posting: Readonly<Record<string, string>>,
  { proposalId, tenantId, expiresAtMs, state }: ProposalRow,
  position: bigint | undefined,
): Promise<void> {
  show({ ...posting, proposalId, state, expiresAt: toTimestamp(expiresAtMs) }, options.json)
  note(
    `it gives nothing until another user approves it: POST /api/admin/tenants/${tenantId}/proposals/${proposalId}/approve`,
  )
  await session.projected('proposals', position)
}
