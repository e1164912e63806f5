import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { LineOrder, readLines } from '../../api/query/ledger.ts'
import { lineFormats } from '../../api/query/line-files.ts'
import type { TimeRange } from '../../api/query/time-range.ts'
import { Cursor } from '../../api/query/schemas.ts'
import { Download } from '../kit/download.tsx'
import { FilterForm } from '../kit/filter.tsx'
import { apiPath, linesHref, paths } from '../kit/href.ts'
import { boundedOf, pageOf, Pager, withTime } from '../kit/time-pages.tsx'
import { factsOrWords, type PanelFacts } from '../kit/panel.tsx'
import { hasLabels, labelColumn, lineColumns, type Lines } from '../kit/lines.tsx'
import { Table } from '../kit/table.tsx'
import { LedgerTabs } from '../kit/tabs.tsx'
import type { ZoneClock } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
import { tenantsShown } from '../session/reading-as.ts'
import { lineFields, lineMembers, tenantsOfLines } from './line-query.ts'

/** The settled lines of the ledger, newest first unless they are sorted. */

const query = Type.Object({ ...lineMembers, sort: LineOrder, cursor: Cursor })
type Query = Static<typeof query>

interface LinesFacts {
  readonly query: Query
  readonly list: PanelFacts<{ readonly lines: Lines; readonly range: TimeRange }>
}

const PART = 'lines'

type Bounded = ReturnType<typeof boundedOf<Query>>

/** The addresses of the same lines in other orders; each turns the order that it is in. */
function sortsOf({ sort, ...asked }: Bounded) {
  const [isOldest, isLargest] = [sort === 'settled_at', sort === '-amount']
  const byTime = sort === undefined ? 'descending' : isOldest ? 'ascending' : undefined
  const byAmount = isLargest ? 'descending' : sort === 'amount' ? 'ascending' : undefined
  return {
    settled: {
      href: linesHref({ ...asked, sort: sort === undefined ? 'settled_at' : undefined }),
      now: byTime,
    },
    amount: {
      href: linesHref({ ...asked, sort: isLargest ? 'amount' : '-amount' }),
      now: byAmount,
    },
  } as const
}

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
  const bounded = boundedOf(query, range)
  const { sort: _sort, ...ofFile } = bounded
  return (
    <>
      <Table
        label="Settled lines"
        columns={[
          ...lineColumns(clock, query.tz, sortsOf(bounded)),
          ...(lines.items.some(hasLabels) ? [labelColumn(query.tz)] : []),
        ]}
        rows={lines.items}
        keyOf={({ line_id: id }) => id}
        empty="Nothing was settled in this time. Choose a longer time, or clear a filter."
      />
      <Pager
        href={linesHref}
        query={query}
        range={range}
        next={lines.next_cursor}
        {...(query.sort === undefined ? {} : { words: ['First', 'Further'] as const })}
      />
      <Download
        page={linesHref()}
        query={ofFile}
        formats={lineFormats}
        asOf={lines.as_of}
        from={apiPath('/ledger/lines', { ...ofFile, as_of: lines.as_of })}
      />
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

const fileQuery = Type.Object(lineMembers)

/** All lines of a filter. */
export const linesFile: PageFile<typeof fileQuery, (typeof lineFormats)[number]> = {
  formats: lineFormats,
  query: fileQuery,
  read: async (services, who, { query: asked, format }) => {
    const dated = withTime(asked, '30d')
    // Spreadsheets know UTF-8 by it.
    const bom = format === 'csv' ? ({ bom: 'true' } as const) : {}
    const lines = await readLines(services, who, { ...dated, format, ...bom })
    const rows = await tenantsOfLines(services, who, { ...dated, as_of: lines.facts.asOf ?? '' })
    const name = format === 'focus' ? 'focus' : 'ledger-lines'
    return { list: { name, ...lines }, tenantIds: tenantsShown(asked, rows) }
  },
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
  filter: () => ({ title: 'Ledger', action: linesHref(), part: PART, fields: lineFields }),
  title: () => 'Ledger',
  show: (facts, view) => <LinesPage facts={facts} view={view} />,
}
