import type { JSX } from 'preact'
import { readZone } from '../../api/query/time-range.ts'
import type { QueryServices } from '../../api/query/services.ts'
import { readTagKeys } from '../../api/query/report-query.ts'
import { readUsage } from '../../api/query/usage.ts'
import type { Principal } from '../../app/access/principal.ts'
import { withFiles } from '../../api/kit/answers/lists.ts'
import { DayChart } from '../kit/chart.tsx'
import { Download, tableFormats } from '../kit/download.tsx'
import { FilterForm } from '../kit/filter.tsx'
import { apiPath, paths, summaryHref } from '../kit/href.ts'
import { factsOrWords } from '../kit/panel.tsx'
import { Table } from '../kit/table.tsx'
import { LedgerTabs } from '../kit/tabs.tsx'
import { grouped, Money, type ZoneClock } from '../kit/values.tsx'
import { conditionsOf, linesOf, periodOf, wordOf } from './dimensions.ts'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
import { tenantsShown } from '../session/reading-as.ts'
import { tenantsOfLines } from './line-query.ts'
import { reportOf, summaryFields, type SummaryQuery, summaryQuery } from './summary-query.ts'
import {
  columnsOf,
  Compared,
  labelOf,
  summedOf,
  type SummaryFacts,
  type Sums,
  type Usage,
  valuesOf,
} from './sums.tsx'

/** Sums of settled lines by one or two dimensions. */

const PART = 'summary'
/** More rows are no page for people. */
const MAX_ROWS = 1_000
/** Days of the longest chart: bars of more than two years are thinner than a pixel. */
const MAX_DAYS = 800

async function read(
  services: QueryServices,
  who: Principal,
  asked: SummaryQuery,
): Promise<SummaryFacts> {
  const { shown, by, order, conditions, report } = reportOf(asked)
  const tagKeys = await readTagKeys(services.queries, who, asked.tenant_id)
  const sums = await factsOrWords(async () => {
    const { facts, page } = await readUsage(services, who, report)
    const { fromMs = 0, toMs = services.clock.nowMs() + 1 } = facts
    const tenants = await tenantsOfLines(services, who, conditions)
    return { usage: await page(), bounds: { fromMs, toMs }, tenants }
  })
  return { query: shown, by, order, tagKeys, sums }
}

/** All sums of a summary. */
export const summaryFile: PageFile<typeof summaryQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: summaryQuery,
  read: async (services, who, { query: asked }) => {
    const { conditions, report } = reportOf(asked)
    const usage = await readUsage(services, who, report)
    const tenants = await tenantsOfLines(services, who, conditions)
    return { list: withFiles(usage, true), tenantIds: tenantsShown(asked, tenants) }
  },
}

function Totals({ totals, from }: { readonly totals: Usage['totals']; readonly from: string }) {
  return (
    <ul class="totals" aria-label="Totals">
      {totals.map(({ currency, net, refunded, amount, lines, net_before: before, change }) => (
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
            {before === undefined || change === undefined ? null : (
              <>
                ; before <Money amount={before} from={from} />, change{' '}
                <Money amount={change} from={from} isSigned />
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

function SumsOf({
  facts,
  sums,
  clock,
}: {
  readonly facts: SummaryFacts
  readonly sums: Sums
  readonly clock: ZoneClock
}) {
  const { by, query: asked, order } = facts
  const { items, totals, groups, before, as_of: asOf } = sums.usage
  const { top } = asked
  const conditions = { ...conditionsOf(asked, summedOf(sums)), top }
  const asReport = { group_by: by.join(','), sort: order, before: asked.compare }
  const from = apiPath('/usage', { ...conditions, ...asReport })
  const rows = items.slice(0, MAX_ROWS)
  return (
    <>
      <Totals totals={totals} from={from} />
      {top === undefined ? <Charts facts={facts} sums={sums} from={from} /> : null}
      <div class="panel">
        {before === undefined ? null : <Compared before={before} clock={clock} />}
        <Table
          label={`Sums by ${by.map(wordOf).join(' and ')}`}
          columns={columnsOf(facts, sums, from)}
          rows={rows}
          keyOf={(item) => JSON.stringify([valuesOf(item, by), item.currency])}
          empty="Nothing was settled in this time. Choose a longer time, or clear a filter."
        />
        {rows.length === groups ? null : (
          <p class="note">
            {grouped(String(rows.length))} of {grouped(String(groups))} rows are shown; the totals
            are of all.
          </p>
        )}
        <Download
          page={summaryHref()}
          query={{ ...conditions, compare: asked.compare, by: by[0], and: by[1], sort: order }}
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
      <FilterForm
        action={summaryHref()}
        part={PART}
        fields={summaryFields(facts.tagKeys)}
        values={facts.query}
      />
      <div id={PART} aria-live="polite">
        {'why' in sums ? (
          <p class="panel note">{sums.why}</p>
        ) : (
          <SumsOf facts={facts} sums={sums.facts} clock={view.clock} />
        )}
      </div>
    </>
  )
}

/** Sums by day of the last 30 days, unless other dimensions or another time are asked for. */
export const summaryPage: Page<typeof summaryQuery, SummaryFacts> = {
  path: paths.summary,
  roles: ['finance'],
  query: summaryQuery,
  read: (services, who, { query: asked }) => read(services, who, asked),
  tenantsOf: ({ query: asked, sums }) =>
    tenantsShown(asked, 'why' in sums ? [] : sums.facts.tenants),
  filter: () => ({ title: 'Ledger', action: summaryHref(), part: PART, fields: summaryFields([]) }),
  title: ({ by }) => `Ledger by ${by.map(wordOf).join(' and ')}`,
  show: (facts, view) => <SummaryPage facts={facts} view={view} />,
}
