import type { JSX } from 'preact'
import { Type } from 'typebox'
import { MonthMember } from '../../api/kit/routes/account-surface.ts'
import { boardParts } from '../../app/finance/statements/types.ts'
import { monthAfter, monthBefore } from '../../domain/statement/periods.ts'
import { fieldOf, type FilterField } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { apiPath, paths, periodHref, periodsHref } from '../kit/href.ts'
import { Table, type TableColumn } from '../kit/table.tsx'
import { grouped, Money } from '../kit/values.tsx'
import { withFiles } from '../../api/kit/answers/lists.ts'
import { readPeriods } from '../../api/query/statements/list.ts'
import { Download, tableFormats } from '../kit/download.tsx'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
import {
  type Board,
  type BoardFacts,
  boardQuery,
  type BoardQuery,
  PAGE,
  readBoard,
  type Row,
} from './board-facts.ts'
import { BlockerOf, blockerWords } from './blockers.tsx'
import { CloseAll } from './close-all.tsx'
import type { LateFailures } from './late-failures.ts'
import { monthInWords } from './names.ts'
import { ASKS_EVERY } from './progress.ts'

/** The board of a month: which accounts are closed, what blocks the others, and the form that closes all that are ready. */

const PART = 'board'

const partWords = { blocked: 'blocked', ready: 'ready', closed: 'closed' } as const

const fields: readonly FilterField[] = [
  { name: 'month', label: 'Month', placeholder: '2026-11' },
  { name: 'show', label: 'Show', options: [...boardParts], noChoice: 'all' },
  fieldOf.tenant,
]

const nameOf = ({ tenant_id: tenantId, currency, month }: Row) => ({ tenantId, currency, month })

/** Addresses of the same board: another page or part of it, without the form that was sent. */
function hrefOf(
  { query, month }: BoardFacts,
  change: { readonly [Name in keyof BoardQuery]?: BoardQuery[Name] | undefined } = {},
): string {
  const { show, tenant_id, tz } = query
  return periodsHref({ month, show, tenant_id, tz, ...change })
}

function State({ row, facts, view }: { row: Row; facts: BoardFacts; view: View }): JSX.Element {
  const of = { ...nameOf(row), currency: row.currency as 'CNY' | 'USD' }
  if (row.status === 'closed')
    return (
      <span class="state good">{row.void_proposed ? 'closed; a void is proposed' : 'closed'}</span>
    )
  const failure = facts.failures.wordsFor(of)
  if (row.blockers.length === 0)
    return failure === undefined ? (
      <span class="state work">ready</span>
    ) : (
      <span class="state bad">ready; the last close failed: {failure}</span>
    )
  return (
    <ul class="reasons">
      {row.blockers.map((blocker) => (
        <li key={blocker.code}>
          <BlockerOf blocker={blocker} of={of} view={view} />
        </li>
      ))}
    </ul>
  )
}

function columnsOf(facts: BoardFacts, view: View): readonly TableColumn<Row>[] {
  const from = apiPath('/periods', { month: facts.month })
  const figure = (name: 'opening' | 'closing') => (row: Row) =>
    row[name] === null ? null : <Money amount={row[name]} from={from} />
  const count = (name: 'postings' | 'late') => (row: Row) =>
    row[name] === null || row[name] === 0 ? null : grouped(String(row[name]))
  return [
    {
      name: 'tenant',
      narrow: 'lead',
      cell: (row) => <a href={periodHref(nameOf(row), { tz: facts.query.tz })}>{row.tenant_id}</a>,
    },
    { name: 'currency', cell: ({ currency }) => currency },
    { name: 'state', cell: (row) => <State row={row} facts={facts} view={view} /> },
    { name: 'statement', cell: ({ statement }) => statement },
    { name: 'opening', right: true, cell: figure('opening') },
    { name: 'closing', right: true, cell: figure('closing') },
    { name: 'postings', right: true, cell: count('postings') },
    { name: 'late', right: true, cell: count('late') },
  ]
}

function Counts({ facts, board }: { facts: BoardFacts; board: Board }): JSX.Element {
  const { counts } = board
  return (
    <>
      <ul class="counts">
        {(['closed', 'ready', 'blocked'] as const).map((part) => (
          <li key={part} class={part}>
            <a href={hrefOf(facts, { show: part })}>
              <strong>{grouped(String(counts[part]))}</strong> {partWords[part]}
            </a>
          </li>
        ))}
      </ul>
      {counts.blockers.length === 0 ? null : (
        <ul class="reasons">
          {counts.blockers.map(({ code, rows }) => (
            <li key={code}>
              <a href={hrefOf(facts, { show: code })}>
                {grouped(String(rows))}: {blockerWords[code]}
              </a>
            </li>
          ))}
        </ul>
      )}
      {counts.voidProposed === 0 ? null : (
        <p class="note">
          {grouped(String(counts.voidProposed))} of the closed ones are proposed to be void.
        </p>
      )}
    </>
  )
}

function Pages({ facts, shown }: { facts: BoardFacts; shown: number }): JSX.Element | null {
  const at = Number(facts.query.page ?? 1)
  const last = Math.max(1, Math.ceil(shown / PAGE))
  if (last === 1 && at === 1) return null
  const link = (page: number, name: string) => (
    <a class="button" href={hrefOf(facts, { page: page === 1 ? undefined : String(page) })}>
      {name}
    </a>
  )
  return (
    <p class="pager">
      {at > 1 ? link(Math.min(at - 1, last), 'Back') : null}
      <span>
        page {at} of {last}
      </span>
      {at < last ? link(at + 1, 'On') : null}
    </p>
  )
}

function BoardPart({ facts, board, view }: { facts: BoardFacts; board: Board; view: View }) {
  const { progress, query, month } = facts
  const asks =
    progress?.asks === true
      ? {
          'hx-get': periodsHref({ ...query, month, since: progress.since }),
          'hx-trigger': ASKS_EVERY,
          'hx-target': `#${PART}`,
          'hx-select': `#${PART}`,
          'hx-swap': 'outerMorph',
        }
      : {}
  const shown = { month, show: query.show, tenant_id: query.tenant_id }
  const command = ['tollgate close', `--month ${month}`, '--all', '--preview'].join(' ')
  return (
    <div id={PART} {...asks}>
      <section class="panel" aria-label="Counts">
        <Counts facts={facts} board={board} />
      </section>
      <CloseAll facts={facts} board={board} view={view} />
      <section class="panel" aria-label="Accounts">
        <Table
          label={`Accounts in ${monthInWords(month)}`}
          columns={columnsOf(facts, view)}
          rows={board.items}
          keyOf={(row) => `${row.tenant_id}~${row.currency}`}
          isFollowed
          empty="No account is shown here: choose another month or part of the board."
        />
        <Pages facts={facts} shown={board.shown} />
        <Download page={periodsHref()} query={shown} from={apiPath('/periods', shown)} />
        <p class="note">
          With the figures of open months: <code>{command}</code>.
        </p>
      </section>
    </div>
  )
}

function BoardView({ facts, view }: { facts: BoardFacts; view: View }): JSX.Element {
  const { month, query, board } = facts
  const go = (to: string) => hrefOf(facts, { month: to, show: undefined })
  return (
    <>
      <h1 class="title">Months: {monthInWords(month)}</h1>
      <nav class="pager" aria-label="Months">
        <a class="button" href={go(monthBefore(month))}>
          {monthInWords(monthBefore(month))}
        </a>
        <a class="button" href={go(monthAfter(month))}>
          {monthInWords(monthAfter(month))}
        </a>
      </nav>
      <FilterForm
        action={periodsHref()}
        part={PART}
        fields={fields}
        values={{ month, show: query.show, tenant_id: query.tenant_id, tz: query.tz }}
      />
      {'why' in board ? (
        <div class="panel" id={PART}>
          <p class="note">{board.why}</p>
        </div>
      ) : (
        <BoardPart facts={facts} board={board.facts} view={view} />
      )}
    </>
  )
}

const fileQuery = Type.Object({
  month: MonthMember,
  show: boardQuery.properties.show,
  tenant_id: boardQuery.properties.tenant_id,
})

/** All rows of a board or of a part of it. */
export const boardFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: async (services, who, { query: asked }) => {
    const list = await readPeriods(services, who, asked)
    return { list: withFiles(list, true), tenantIds: [asked.tenant_id] }
  },
}

/** All accounts of a month that a reader sees. */
export const boardPage = (failures: LateFailures): Page<typeof boardQuery, BoardFacts> => ({
  path: paths.periods,
  roles: ['finance'],
  query: boardQuery,
  read: (services, who, { query: asked }) => readBoard(services, who, asked, failures),
  tenantsOf: ({ query: { tenant_id: tenantId } }) => [tenantId],
  filter: () => ({ title: 'Months', action: periodsHref(), part: PART, fields: fields }),
  title: ({ month }) => `Months: ${monthInWords(month)}`,
  show: (facts, view) => <BoardView facts={facts} view={view} />,
})
