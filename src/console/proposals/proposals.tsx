import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import type { ProposalRow } from '../../../projections/proposals/query.ts'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { actorOf, Reason } from '../../api/kit/routes/account-surface.ts'
import { readAccountPrices } from '../../api/admin/prices/tenants.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import { readBalance } from '../../api/query/balance.ts'
import { cursorMembers, readPage } from '../../api/kit/routes/queries.ts'
import type { Services } from '../../api/kit/services.ts'
import { isOperator } from '../../domain/token/events.ts'
import type { Posting } from '../../domain/account/postings.ts'
import { changeInWords, isSettingChange } from '../../domain/account/setting-changes.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { ActionForm, UnplacedFault } from '../kit/form.tsx'
import { paths, proposalHref, proposalIn, proposalsHref, tenantHref } from '../kit/href.ts'
import { Panel, type PanelFacts, panelFacts } from '../kit/panel.tsx'
import { ChangeTables, effectOf, kindOf, type ListPrices, termsOf } from './proposed.tsx'
import { Pager } from '../kit/time-pages.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Facts, Money, Moment, type ZoneClock } from '../kit/values.tsx'
import { readVoids, Voids, type WaitingVoids } from './voids.tsx'
import type { PageForm } from '../form-routes.ts'
import type { Page, View } from '../page.tsx'
import { adminScopeOfSession } from '../session/reading-as.ts'

/** Proposals of postings, credit limits and settings, and their approval by a second user. */

const listQuery = Type.Object({
  cursor: cursorMembers.cursor,
  tz: timeRangeMembers.tz,
})

interface ListFacts {
  readonly query: Static<typeof listQuery>
  readonly items: readonly ProposalRow[]
  readonly next_cursor: string | null
  /** Undefined on the pages after the first. */
  readonly voids: WaitingVoids | undefined
}

const columnsIn = (clock: ZoneClock): readonly TableColumn<ProposalRow>[] => [
  { name: 'proposed', cell: ({ proposedAtMs }) => <Moment atMs={proposedAtMs} clock={clock} /> },
  {
    name: 'proposal',
    narrow: 'lead',
    cell: (row) => <a href={proposalHref(row)}>{kindOf(row)}</a>,
  },
  { name: 'tenant', cell: ({ tenantId }) => tenantId },
  {
    name: 'amount',
    right: true,
    cell: ({ posting }) =>
      isSettingChange(posting) ? null : (
        <Money amount={posting.amount} currency={posting.currency} />
      ),
  },
  {
    name: 'reason',
    cell: ({ posting }) =>
      isSettingChange(posting)
        ? changeInWords(posting)
        : posting.kind === 'limit'
          ? ''
          : posting.reason,
  },
  { name: 'state', cell: ({ state }) => state },
  { name: 'lapses', cell: ({ expiresAtMs }) => <Moment atMs={expiresAtMs} clock={clock} /> },
]

function ListPage({
  facts,
  view,
}: {
  readonly facts: ListFacts
  readonly view: View
}): JSX.Element {
  return (
    <>
      <h1 class="title">Proposals</h1>
      <Voids of={facts.voids} clock={view.clock} />
      <section class="panel" aria-label="Proposals">
        <Table
          label="Proposed grants, adjustments, credit limits and settings"
          columns={columnsIn(view.clock)}
          rows={facts.items}
          keyOf={proposalHref}
          empty="There are no proposals."
        />
        <Pager href={proposalsHref} query={facts.query} next={facts.next_cursor} />
      </section>
    </>
  )
}

/** Proposals within the reach of an admin token, newest first. */
export const proposalsPage: Page<typeof listQuery, ListFacts> = {
  path: paths.proposals,
  roles: ['finance', 'support'],
  query: listQuery,
  read: async ({ accounts: { proposals, voids } }, _who, { query, token }) => {
    const scope = adminScopeOfSession(token, 'Proposals')
    const { cursor } = query
    const asked = { limit: 50, ...(cursor === undefined ? {} : { cursor }) }
    const found = await readPage(
      ['proposals', scope],
      asked,
      (page) => proposals.list(scope, { ...page, state: undefined, tenantId: undefined }),
      ({ proposalId }) => proposalId,
    )
    const waiting = cursor === undefined ? await readVoids(voids, token, scope) : undefined
    return { ...found, query, voids: waiting }
  },
  title: () => 'Proposals',
  show: (facts, view) => <ListPage facts={facts} view={view} />,
}

/** The tenant's balance before and after the posting. */
function balanceFacts(posting: Posting, { row: { state }, balance }: ProposalFacts) {
  if (state !== 'proposed' || balance === undefined) return []
  if ('why' in balance) return [['balance', balance.why]] as const
  const { currency, amount } = posting
  const now = balance.facts
  if (posting.kind === 'limit')
    return [
      ['balance', <Money amount={now.balance} currency={currency} />],
      ['limit now', <Money amount={now.limit} currency={currency} />],
    ] as const
  const after = formatAmount(parseAmount(now.balance) + parseAmount(amount))
  return [
    ['balance before', <Money amount={now.balance} currency={currency} />],
    ['balance after', <Money amount={after} currency={currency} />],
  ] as const
}

function postingFacts(posting: Posting, facts: ProposalFacts) {
  return [
    ['amount', <Money amount={posting.amount} currency={posting.currency} />],
    ...balanceFacts(posting, facts),
    ...termsOf(posting),
    ...('reason' in posting ? [['reason', posting.reason] as const] : []),
  ] as const
}

function factsOf(facts: ProposalFacts, { clock, token }: View) {
  const { row } = facts
  const { posting, by } = row
  const persons = isOperator(token)
    ? [['proposed by', by === null ? 'command line' : `${by.userId} of ${by.tenantId}`] as const]
    : []
  return [
    ['tenant', <a href={tenantHref(row.tenantId)}>{row.tenantId}</a>],
    ...(isSettingChange(posting)
      ? [['replaces revision', String(posting.basis)] as const]
      : postingFacts(posting, facts)),
    ...persons,
    ['proposed', <Moment atMs={row.proposedAtMs} clock={clock} />],
    ['lapses', <Moment atMs={row.expiresAtMs} clock={clock} />],
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

const oneQuery = Type.Object({ tz: listQuery.properties.tz })

interface ProposalFacts {
  readonly row: ProposalRow
  /** The tenant's balance and credit limit in the currency of a posting: decimals. */
  readonly balance: PanelFacts<{ readonly balance: string; readonly limit: string }> | undefined
  /** List prices, to compare proposed prices with. */
  readonly list: ListPrices | undefined
}

/** One proposal with the forms that decide it. */
export const proposalPage: Page<typeof oneQuery, ProposalFacts> = {
  path: paths.proposal,
  roles: ['finance', 'support'],
  query: oneQuery,
  read: async (services, who, { id, token }) => {
    const scope = adminScopeOfSession(token, 'Proposals')
    const row = await services.accounts.proposals.find(scope, proposalIn(id))
    const { tenantId, posting } = row
    if (isSettingChange(posting)) {
      const list =
        posting.kind === 'prices'
          ? await panelFacts(token, ['finance'], () =>
              readAccountPrices(services.accounts, scope, tenantId, true),
            )
          : undefined
      return { row, balance: undefined, list }
    }
    const asked = { tenant_id: tenantId, currency: posting.currency }
    const balance = await panelFacts(token, ['finance'], async () => {
      const { items } = await (await readBalance(services, who, asked)).page()
      const account = items[0]?.accounts[0]
      return { balance: account?.balance ?? '0', limit: account?.credit_limit ?? '0' }
    })
    return { row, balance, list: undefined }
  },
  tenantsOf: ({ row }) => [row.tenantId],
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
