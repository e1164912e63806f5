import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import type { ProposalRow } from '../../../projections/proposals/query.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import { cursorMembers, readPage } from '../../api/kit/routes/queries.ts'
import { changeInWords, isSettingChange } from '../../domain/account/setting-changes.ts'
import { paths, proposalHref, proposalsHref, tenantHref } from '../kit/href.ts'
import { Pager } from '../kit/time-pages.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Money, Moment, type ZoneClock } from '../kit/values.tsx'
import { kindOf } from './proposed.tsx'
import { readVoids, Voids, type WaitingVoids } from './voids.tsx'
import type { Page, View } from '../page.tsx'
import { adminScopeOfSession } from '../session/reading-as.ts'

/** Proposals of postings, credit limits and settings, newest first. */

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
  { name: 'tenant', cell: ({ tenantId }) => <a href={tenantHref(tenantId)}>{tenantId}</a> },
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
        ? [changeInWords(posting), posting.reason].filter(Boolean).join(': ')
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
