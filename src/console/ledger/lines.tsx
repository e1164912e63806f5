import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { readLines } from '../../api/query/ledger.ts'
import type { TimeRange } from '../../api/query/time-range.ts'
import { Cursor } from '../../api/query/schemas.ts'
import { FilterForm } from '../kit/filter.tsx'
import { apiPath, linesHref, paths } from '../kit/href.ts'
import { boundedOf, pageOf, Pager, withTime } from '../kit/time-pages.tsx'
import { factsOrWords, type PanelFacts } from '../kit/panel.tsx'
import { lineColumns, type Lines } from '../kit/lines.tsx'
import { Table } from '../kit/table.tsx'
import { LedgerTabs } from '../kit/tabs.tsx'
import type { ZoneClock } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import { tenantsShown } from '../session/reading-as.ts'
import { lineFields, lineMembers } from './line-query.ts'

/** The settled lines of the ledger, newest first. */

const query = Type.Object({ ...lineMembers, cursor: Cursor })
type Query = Static<typeof query>

interface LinesFacts {
  readonly query: Query
  readonly list: PanelFacts<{ readonly lines: Lines; readonly range: TimeRange }>
}

const PART = 'lines'

function List({
  query,
  lines,
  range,
  clock,
}: {
  readonly query: Query
  readonly lines: Lines
  readonly range: TimeRange
  readonly clock: ZoneClock
}): JSX.Element {
  const asFile = { ...boundedOf(query, range), as_of: lines.as_of, format: 'csv' }
  return (
    <>
      <Table
        label="Settled lines"
        columns={lineColumns(clock, query.tz)}
        rows={lines.items}
        keyOf={({ line_id: id }) => id}
        empty="Nothing was settled in this time. Choose a longer time, or clear a filter."
      />
      <Pager href={linesHref} query={query} range={range} next={lines.next_cursor} />
      <p class="note">
        As of position {lines.as_of} of the log. As a file:{' '}
        <code>GET {apiPath('/ledger/lines', asFile)}</code> with a query token;{' '}
        <code>tollgate export lines</code> writes those of a month.
      </p>
    </>
  )
}

function LinesPage({ facts, view }: { readonly facts: LinesFacts; readonly view: View }) {
  const { query, list } = facts
  return (
    <>
      <h1 class="title">Ledger</h1>
      <LedgerTabs at={paths.lines} token={view.token} asked={query} />
      <FilterForm action={linesHref()} part={PART} fields={lineFields} values={query} />
      <div class="panel" id={PART} aria-live="polite">
        {'why' in list ? (
          <p class="note">{list.why}</p>
        ) : (
          <List query={query} {...list.facts} clock={view.clock} />
        )}
      </div>
    </>
  )
}

/** Lines of the last 30 days, unless another time is asked for. */
export const linesPage: Page<typeof query, LinesFacts> = {
  path: paths.lines,
  roles: ['finance'],
  query,
  read: async (services, who, { query: asked }) => {
    const shown = withTime(asked, '30d')
    const list = await factsOrWords(async () => {
      const { facts: range, page } = await readLines(
        services,
        who,
        pageOf(shown, services.clock.nowMs()),
      )
      return { lines: await page(), range }
    })
    return { query: shown, list }
  },
  tenantsOf: ({ query: asked, list }) =>
    tenantsShown(asked, 'why' in list ? [] : list.facts.lines.items),
  title: () => 'Ledger',
  show: (facts, view) => <LinesPage facts={facts} view={view} />,
}
