import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { readZone } from '../../api/query/time-range.ts'
import type { QueryServices } from '../../api/query/services.ts'
import { readUsage } from '../../api/query/usage.ts'
import type { Principal } from '../../app/access/principal.ts'
import { withFiles } from '../../api/query/answers.ts'
import { DayChart } from '../kit/chart.tsx'
import { Download, tableFormats } from '../kit/download.tsx'
import type { FilterField } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { apiPath, paths, summaryHref } from '../kit/href.ts'
import { factsOrWords, type PanelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { LedgerTabs } from '../kit/tabs.tsx'
import { withTime } from '../kit/time-pages.tsx'
import { grouped, Money } from '../kit/values.tsx'
import {
  type Bounds,
  conditionsOf,
  type Dimension,
  dimensions,
  linesOf,
  members,
  periodOf,
  type Summed,
  wordOf,
} from './dimensions.ts'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
import { tenantsShown } from '../session/reading-as.ts'
import { lineFields, lineMembers, tenantsOfLines } from './line-query.ts'

/** Sums of settled lines by one or two dimensions. */

type Usage = Awaited<ReturnType<Awaited<ReturnType<typeof readUsage>>['page']>>
type Item = Usage['items'][number]

const query = Type.Object({
  ...lineMembers,
  by: Type.Optional(Type.Enum([...dimensions])),
  and: Type.Optional(Type.Enum([...dimensions])),
})
type Query = Static<typeof query>

interface Sums {
  readonly usage: Usage
  readonly bounds: Bounds
  /** The tenants of the sums, where something of one tenant was asked for. */
  readonly tenants: readonly { readonly tenant_id: string }[]
}

interface SummaryFacts {
  readonly query: Query
  readonly by: readonly Dimension[]
  readonly sums: PanelFacts<Sums>
}

const summedOf = ({ usage, bounds }: Sums): Summed => ({ bounds, asOf: usage.as_of })

const PART = 'summary'
/** More rows are no page for people. */
const MAX_ROWS = 1_000
/** Days of the longest chart: bars of more than two years are thinner than a pixel. */
const MAX_DAYS = 800

const fields: readonly FilterField[] = [
  { name: 'by', label: 'Group by', options: dimensions, noChoice: null },
  { name: 'and', label: 'Then by', options: dimensions, noChoice: 'none' },
  ...lineFields,
]

/** The query with what the page has where it was not asked for, and the same as the API takes it. */
function reportOf(asked: Query) {
  const dated = withTime(asked, '30d')
  const shown = { ...dated, by: dated.by ?? ('day' as const) }
  const { by, and, ...conditions } = shown
  const dimensionsOf = and === undefined ? [by] : [by, and]
  return { shown, by: dimensionsOf, report: { ...conditions, group_by: dimensionsOf.join(',') } }
}

async function read(services: QueryServices, who: Principal, asked: Query): Promise<SummaryFacts> {
  const { shown, by, report } = reportOf(asked)
  const sums = await factsOrWords(async () => {
    const { facts, page } = await readUsage(services, who, report)
    const { fromMs = 0, toMs = services.clock.nowMs() + 1 } = facts
    const tenants = await tenantsOfLines(services, who, report)
    return { usage: await page(), bounds: { fromMs, toMs }, tenants }
  })
  return { query: shown, by, sums }
}

/** All sums of a summary. */
export const summaryFile: PageFile<typeof query, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query,
  read: async (services, who, { query: asked }) => {
    const { report } = reportOf(asked)
    const usage = await readUsage(services, who, report)
    const tenants = await tenantsOfLines(services, who, report)
    return { list: withFiles(usage, true), tenantIds: tenantsShown(asked, tenants) }
  },
}

/** The value of a dimension for people: a name stands before its id. */
function labelOf(item: Item, dimension: Dimension): string {
  const id = String(item[members[dimension]])
  const name = item[`${dimension}_name`]
  return typeof name === 'string' && name !== id ? `${name} (${id})` : id
}

function valuesOf(item: Item, by: readonly Dimension[]): Partial<Record<Dimension, string>> {
  return Object.fromEntries(by.map((one) => [one, String(item[members[one]])]))
}

function columnsOf(facts: SummaryFacts, sums: Sums, from: string): readonly TableColumn<Item>[] {
  const { by, query: asked } = facts
  return [
    ...by.map((dimension, index): TableColumn<Item> => ({
      name: wordOf(dimension),
      ...(index === 0 ? { narrow: 'lead' as const } : {}),
      cell: (item) => {
        const label = labelOf(item, dimension)
        if (index > 0) return label
        return (
          <a href={linesOf(asked, summedOf(sums), valuesOf(item, by), item.currency)}>{label}</a>
        )
      },
    })),
    {
      name: 'calls and tasks',
      right: true,
      cell: ({ requests }) => (requests === null ? '' : grouped(String(requests))),
    },
    { name: 'lines', right: true, cell: ({ lines }) => grouped(String(lines)) },
    {
      name: 'settled',
      right: true,
      cell: (item) => <Money amount={item.amount} currency={item.currency} from={from} />,
    },
    {
      name: 'refunded',
      right: true,
      cell: ({ refunded }) => (refunded === '0' ? '' : <Money amount={refunded} from={from} />),
    },
    { name: 'net', right: true, cell: ({ net }) => <Money amount={net} from={from} /> },
  ]
}

function Totals({ totals, from }: { readonly totals: Usage['totals']; readonly from: string }) {
  return (
    <ul class="totals" aria-label="Totals">
      {totals.map(({ currency, net, refunded, amount, lines }) => (
        <li key={currency}>
          <Money amount={net} currency={currency} from={from} />{' '}
          <span class="note">
            net of {grouped(String(lines))} {lines === 1 ? 'line' : 'lines'}
            {refunded === '0' ? null : (
              <>
                : <Money amount={amount} from={from} /> settled,{' '}
                <Money amount={refunded} from={from} /> refunded
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** One chart a currency, where the first dimension is a day. */
function Charts({
  facts: { by, query: asked },
  sums,
  from,
}: {
  readonly facts: SummaryFacts
  readonly sums: Sums
  readonly from: string
}): JSX.Element | null {
  const [first, second] = by
  const { items, totals } = sums.usage
  const names = items.map((item) => String(item['day'])).toSorted()
  if (first !== 'day' || names.length === 0) return null
  // A range without a beginning is drawn from its first day with usage.
  const beginMs = Math.max(sums.bounds.fromMs, periodOf(asked.tz, 'day', names[0] ?? '').fromMs)
  const fromMs =
    asked.from === undefined && asked.time_preset === undefined ? beginMs : sums.bounds.fromMs
  const days = readZone(asked.tz)
    .daysBetween(fromMs, sums.bounds.toMs)
    .map(({ name }) => name)
  if (days.length > MAX_DAYS)
    return <p class="panel note">A chart shows at most {MAX_DAYS} days. Group by month instead.</p>
  return (
    <div class={days.length > 40 ? 'charts wide' : 'charts'}>
      {totals.map(({ currency }) => (
        <DayChart
          key={currency}
          title={second === undefined ? 'Settled by day' : `Settled by day and ${wordOf(second)}`}
          currency={currency}
          days={days}
          cells={items
            .filter((item) => item.currency === currency)
            .map((item) => ({
              day: String(item['day']),
              series: second === undefined ? 'settled' : labelOf(item, second),
              amount: item.amount,
            }))}
          from={from}
          hrefOf={(day) => linesOf(asked, summedOf(sums), { day }, currency)}
        />
      ))}
    </div>
  )
}

function SumsOf({ facts, sums }: { readonly facts: SummaryFacts; readonly sums: Sums }) {
  const { by, query: asked } = facts
  const { items, totals, as_of: asOf } = sums.usage
  const from = apiPath('/usage', { ...conditionsOf(asked, summedOf(sums)), group_by: by.join(',') })
  return (
    <>
      <Totals totals={totals} from={from} />
      <Charts facts={facts} sums={sums} from={from} />
      <div class="panel">
        {items.length > MAX_ROWS ? (
          <p class="note">
            {grouped(String(items.length))} rows do not fit on a page. Choose a shorter time, or
            group by one dimension.
          </p>
        ) : (
          <Table
            label={`Sums by ${by.map(wordOf).join(' and ')}`}
            columns={columnsOf(facts, sums, from)}
            rows={items}
            keyOf={(item) => JSON.stringify([valuesOf(item, by), item.currency])}
            empty="Nothing was settled in this time. Choose a longer time, or clear a filter."
          />
        )}
        <Download
          page={summaryHref()}
          query={{ ...conditionsOf(asked, summedOf(sums)), by: by[0], and: by[1] }}
          asOf={asOf}
          from={from}
        />
      </div>
    </>
  )
}

function SummaryPage({ facts, view }: { readonly facts: SummaryFacts; readonly view: View }) {
  const { sums } = facts
  return (
    <>
      <h1 class="title">Ledger</h1>
      <LedgerTabs at={paths.summary} token={view.token} asked={facts.query} />
      <FilterForm action={summaryHref()} part={PART} fields={fields} values={facts.query} />
      <div id={PART} aria-live="polite">
        {'why' in sums ? (
          <p class="panel note">{sums.why}</p>
        ) : (
          <SumsOf facts={facts} sums={sums.facts} />
        )}
      </div>
    </>
  )
}

/** Sums by day of the last 30 days, unless other dimensions or another time are asked for. */
export const summaryPage: Page<typeof query, SummaryFacts> = {
  path: paths.summary,
  roles: ['finance'],
  query,
  read: (services, who, { query: asked }) => read(services, who, asked),
  tenantsOf: ({ query: asked, sums }) =>
    tenantsShown(asked, 'why' in sums ? [] : sums.facts.tenants),
  filter: () => ({ title: 'Ledger', action: summaryHref(), part: PART, fields: fields }),
  title: ({ by }) => `Ledger by ${by.map(wordOf).join(' and ')}`,
  show: (facts, view) => <SummaryPage facts={facts} view={view} />,
}
