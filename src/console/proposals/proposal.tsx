import type { JSX } from 'preact'
import { Type } from 'typebox'
import type { ProposalRow } from '../../../projections/proposals/query.ts'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { actorOf, Reason } from '../../api/kit/routes/account-surface.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import type { Services } from '../../api/kit/services.ts'
import { isOperator } from '../../domain/token/events.ts'
import { isSettingChange } from '../../domain/account/setting-changes.ts'
import { ActionForm, UnplacedFault } from '../kit/form.tsx'
import { paths, proposalHref, proposalIn, tenantHref } from '../kit/href.ts'
import { Panel } from '../kit/panel.tsx'
import { Facts, Moment } from '../kit/values.tsx'
import { ChangeTables, effectOf, kindOf } from './proposed.tsx'
import {
  personOf,
  postingFacts,
  type ProposalFacts,
  readProposal,
  RefundedLine,
} from './posting.tsx'
import type { PageForm } from '../form-routes.ts'
import type { Page, View } from '../page.tsx'

/** One proposal: who proposes what, on what it rests, and the forms that decide it. */

function factsOf(facts: ProposalFacts, { clock, token }: View) {
  const { row, names } = facts
  const { posting, by, endedAtMs } = row
  const isShown = isOperator(token)
  const time = (atMs: number) => <Moment atMs={atMs} clock={clock} />
  return [
    ['tenant', <a href={tenantHref(row.tenantId)}>{row.tenantId}</a>],
    ...(isSettingChange(posting)
      ? [
          ['replaces revision', String(posting.basis)] as const,
          ...(posting.reason === undefined ? [] : [['reason', posting.reason] as const]),
        ]
      : postingFacts(posting, facts, token)),
    ...(isShown ? [['proposed by', personOf(by, names)] as const] : []),
    ['proposed', time(row.proposedAtMs)],
    ...(endedAtMs === null
      ? [['lapses', time(row.expiresAtMs)] as const]
      : [[row.state, time(endedAtMs)] as const]),
    ...(isShown && endedAtMs !== null
      ? [[`${row.state} by`, personOf(row.endedBy, names)] as const]
      : []),
    ...(row.reason === null ? [] : [['reason for rejection', row.reason] as const]),
  ] as const
}

const ended: Readonly<Record<Exclude<ProposalRow['state'], 'proposed'>, string>> = {
  approved: 'This proposal was approved.',
  rejected: 'This proposal was rejected.',
  lapsed: 'This proposal has lapsed.',
}

function Decision({ row, view }: { readonly row: ProposalRow; readonly view: View }): JSX.Element {
  const { token, fault, requestKey } = view
  if (row.state !== 'proposed')
    return (
      <>
        <UnplacedFault fault={fault} />
        <p class="panel note">{ended[row.state]}</p>
      </>
    )
  if (!isOperator(token) || token.role === 'support')
    return (
      <p class="panel note">
        An operator with the role finance, or without a role, approves or rejects this proposal.
      </p>
    )
  const page = proposalHref(row)
  return (
    <>
      <ActionForm
        name="approve"
        title="Approve"
        page={page}
        requestKey={requestKey}
        button="Approve"
        fault={fault}
      >
        {effectOf(row)}. A proposal is approved by a user other than its proposer.
      </ActionForm>
      <ActionForm
        name="reject"
        title="Reject"
        page={page}
        requestKey={requestKey}
        fields={[{ name: 'reason', label: 'Reason' }]}
        button="Reject"
        fault={fault}
      >
        The proposal ends and changes nothing. To propose the same again, use a new id.
      </ActionForm>
    </>
  )
}

const query = Type.Object({ tz: timeRangeMembers.tz })

/** One proposal with the forms that decide it. */
export const proposalPage: Page<typeof query, ProposalFacts> = {
  path: paths.proposal,
  roles: ['finance', 'support'],
  query: query,
  read: readProposal,
  tenantsOf: ({ row }) => [row.tenantId],
  tenantIn: (id) => proposalIn(id).tenantId,
  title: ({ row }) => `Proposal for ${row.tenantId}`,
  show: (facts, view) => (
    <>
      <h1 class="title">
        Proposed {kindOf(facts.row)} for {facts.row.tenantId}
      </h1>
      <Panel id="terms" title="Proposed change">
        <Facts facts={factsOf(facts, view)} />
        {isSettingChange(facts.row.posting) ? (
          <ChangeTables {...facts} change={facts.row.posting} />
        ) : null}
      </Panel>
      <RefundedLine facts={facts} view={view} />
      <Decision row={facts.row} view={view} />
    </>
  ),
}

type Proposals = Services['accounts']['proposals']
const approveFields = Type.Object({})

/** The form that posts a proposal of another user. */
export const approveForm = (proposals: Proposals): PageForm<typeof approveFields> => ({
  name: 'approve',
  roles: ['finance'],
  fields: approveFields,
  act: async (request, { id }) => {
    await proposals.approve(adminScopeOf(request), actorOf(request), proposalIn(id))
    return proposalHref(proposalIn(id))
  },
})

const rejectFields = Type.Object({ reason: Reason })

/** The form that ends a proposal without a posting. */
export const rejectForm = (proposals: Proposals): PageForm<typeof rejectFields> => ({
  name: 'reject',
  roles: ['finance'],
  fields: rejectFields,
  act: async (request, { id, fields }) => {
    const input = { ...proposalIn(id), ...fields }
    await proposals.reject(adminScopeOf(request), actorOf(request), input)
    return proposalHref(proposalIn(id))
  },
})
