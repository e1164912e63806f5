import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import type { ProposalRow } from '../../../projections/proposals/query.ts'
import { readProposals } from '../../api/admin/proposals.ts'
import { withFiles } from '../../api/kit/answers/lists.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import { cursorMembers } from '../../api/kit/routes/queries.ts'
import { changeInWords, isSettingChange } from '../../domain/account/setting-changes.ts'
import { Download, tableFormats } from '../kit/download.tsx'
import { adminPath, paths, proposalHref, proposalsHref, tenantHref } from '../kit/href.ts'
import { Pager } from '../kit/time-pages.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Moment, type ZoneClock } from '../kit/values.tsx'
import { kindOf } from './proposed.tsx'
import { readVoids, Voids, type WaitingVoids } from './voids.tsx'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
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
    money: ({ posting }) =>
      isSettingChange(posting) ? undefined : { amount: posting.amount, currency: posting.currency },
  },
  {
    name: 'reason',
    cell: ({ posting }) =>
      isSettingChange(posting)
        ? [changeInWords(posting), posting.reason].filter(Boolean).join(': ')
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
        <Download page={proposalsHref()} query={{}} from={adminPath('/proposals')} token="admin" />
      </section>
    </>
  )
}

const fileQuery = Type.Object({})

/** All proposals within the reach of an admin token. */
export const proposalsFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: ({ accounts: { proposals } }, _who, { token }) => {
    const list = readProposals(proposals, adminScopeOfSession(token, 'Proposals'), {})
    return Promise.resolve({ list: withFiles(list, true), tenantIds: [] })
  },
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
    const found = await readProposals(proposals, scope, asked).found()
    const waiting = cursor === undefined ? await readVoids(voids, token, scope) : undefined
    return { ...found, query, voids: waiting }
  },
  title: () => 'Proposals',
  show: (facts, view) => <ListPage facts={facts} view={view} />,
}
