import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { readFailures } from '../../api/query/failures.ts'
import { NameOf } from '../../api/query/schemas.ts'
import { readZone, timeRangeMembers } from '../../api/query/time-range.ts'
import { readOwnerNames } from '../../api/query/owner-names.ts'
import { readUsage } from '../../api/query/usage.ts'
import type { Principal } from '../../app/access/principal.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import type { ZonedPeriod } from '../../kernel/time-zone.ts'
import { readTiles, type TileFacts } from '../kit/balance-facts.ts'
import { Tiles } from '../kit/balances.tsx'
import { DayChart } from '../kit/chart.tsx'
import {
  activityHref,
  apiPath,
  lifeHref,
  linesHref,
  movementsHref,
  overviewHref,
  paths,
  repeatsHref,
  tenantHref,
} from '../kit/href.ts'
import { FactsPanel, type PanelFacts, panelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { grouped, Id, Moment, type ZoneClock } from '../kit/values.tsx'
import type { ConsoleServices, Page, View } from '../page.tsx'

/** The state of a tenant, or of all of them, on one page: balances, spend, and the latest failures. */

type Usage = Awaited<ReturnType<Awaited<ReturnType<typeof readUsage>>['page']>>
type Failures = Awaited<ReturnType<Awaited<ReturnType<typeof readFailures>>['page']>>
type Failure = Failures['items'][number]

const query = Type.Object({
  tz: timeRangeMembers.tz,
  tenant_id: NameOf('Only of this tenant.'),
})
type Query = Static<typeof query>

/** Days of the chart of one tenant, and of all of them together, which take longer to sum. */
const DAYS = 14
const DAYS_OF_ALL = 2
const DAY_MS = 86_400_000
const LATEST_FAILURES = 8
const MOST_TENANTS = 20

interface OverviewFacts {
  readonly query: Query
  /** Undefined: all tenants. */
  readonly tenantId: string | undefined
  /** Days of the zone in order. */
  readonly days: readonly ZonedPeriod[]
  readonly tiles: TileFacts | undefined
  /** The name of the tenant, where the reader may know it. */
  readonly tenantName: string | undefined
  readonly spend: PanelFacts<Usage>
  /** Top tenants yesterday; undefined for one tenant. */
  readonly tenants: PanelFacts<Usage> | undefined
  readonly failures: PanelFacts<Failures>
}

/** The last days of a zone, today included. */
function lastDays(tz: string | undefined, nowMs: number, count: number): readonly ZonedPeriod[] {
  return readZone(tz)
    .daysBetween(nowMs - count * DAY_MS, nowMs + 1)
    .slice(-count)
}

async function read(
  services: ConsoleServices,
  who: Principal,
  { query: asked, token }: { readonly query: Query; readonly token: Principal },
): Promise<OverviewFacts> {
  const { tz, tenant_id } = asked
  const isOfAll = who.scope?.level === 'all_tenants' && tenant_id === undefined
  const days = lastDays(tz, services.clock.nowMs(), isOfAll ? DAYS_OF_ALL : DAYS)
  const from = days[0]?.name ?? ''
  const ofTenant = tenant_id === undefined ? {} : { tenant_id }
  const usage = (more: Parameters<typeof readUsage>[2]) => async () =>
    (await readUsage(services, who, { ...asked, ...more })).page()
  const tenantId = isOfAll ? undefined : (tenant_id ?? who.tenantId)
  const [tiles, names, spend, tenants, failures] = await Promise.all([
    isOfAll ? undefined : readTiles(services, who, token, asked),
    tenantId === undefined ? undefined : readOwnerNames(services, who, { tenantId }),
    panelFacts(who, ['finance'], usage({ from, group_by: 'day,model' })),
    isOfAll
      ? panelFacts(who, ['finance'], usage({ time_preset: 'yesterday', group_by: 'tenant' }))
      : undefined,
    panelFacts(who, ['finance', 'support'], async () =>
      (await readFailures(services, who, { ...ofTenant, limit: LATEST_FAILURES })).page(),
    ),
  ])
  return {
    query: asked,
    tenantId,
    tenantName: names?.tenant,
    days,
    tiles,
    spend,
    tenants,
    failures,
  }
}

function Spend({ facts }: { readonly facts: OverviewFacts }): JSX.Element {
  const { spend, days, query } = facts
  if ('why' in spend) return <p class="panel note">Spend: {spend.why}</p>
  const { items, totals } = spend.facts
  const from = apiPath('/usage', { from: days[0]?.name, group_by: 'day,model', ...query })
  if (totals.length === 0)
    return <p class="panel note">Nothing was settled in the last {days.length} days.</p>
  const linesOf = (day: string, currency: string): string => {
    const period = days.find(({ name }) => name === day)
    const bounds = period && { from: toTimestamp(period.fromMs), to: toTimestamp(period.toMs) }
    return linesHref({ ...query, ...bounds, currency })
  }
  return (
    <div class="charts">
      {totals.map(({ currency }) => (
        <DayChart
          key={currency}
          title="Spend by day and model"
          currency={currency}
          days={days.map(({ name }) => name)}
          cells={items
            .filter((item) => item.currency === currency)
            .map((item) => ({
              day: String(item['day']),
              series: String(item['model']),
              amount: item.amount,
            }))}
          from={from}
          hrefOf={(day) => linesOf(day, currency)}
        />
      ))}
    </div>
  )
}

const failureColumns = (clock: ZoneClock): readonly TableColumn<Failure>[] => [
  {
    name: 'time',
    cell: ({ at }) => <Moment atMs={fromTimestamp(at)} clock={clock} precision="s" />,
  },
  { name: 'life', narrow: 'lead', cell: ({ id }) => <Id id={id} href={lifeHref(id)} /> },
  { name: 'code', oneLine: true, cell: ({ code }) => <code>{code}</code> },
  { name: 'model', oneLine: true, cell: ({ model }) => model },
  { name: 'owner', cell: (one) => one.user_id ?? one.tenant_id },
]

const tenantColumns: readonly TableColumn<Usage['items'][number]>[] = [
  {
    name: 'tenant',
    narrow: 'lead',
    cell: (item) => (
      <a href={overviewHref({ tenant_id: String(item['tenant_id']) })}>
        {item['tenant_name'] ?? item['tenant_id']}
      </a>
    ),
  },
  {
    name: 'calls and tasks',
    right: true,
    cell: ({ requests }) => (requests === null ? '' : grouped(String(requests))),
  },
  { name: 'net', money: ({ net, currency }) => ({ amount: net, currency }) },
]

function Tenants({ of }: { readonly of: PanelFacts<Usage> }): JSX.Element {
  const largest = (items: Usage['items']) =>
    items.toSorted((a, b) => Number(b.net) - Number(a.net)).slice(0, MOST_TENANTS)
  return (
    <FactsPanel
      id="tenants"
      title="Top tenants yesterday"
      of={of}
      show={({ items }) => (
        <Table
          label="Tenants"
          columns={tenantColumns}
          rows={largest(items)}
          keyOf={(item) => `${String(item['tenant_id'])} ${item.currency}`}
          empty="Nothing was settled yesterday."
        />
      )}
    />
  )
}

/** Links to the pages of a tenant that the reader may see. */
function Places({
  tenantId,
  tz,
  token: { kind, role },
}: {
  readonly tenantId: string
  readonly tz: string | undefined
  readonly token: View['token']
}): JSX.Element {
  const places = [
    [activityHref(tenantId, { tz }), 'Activity'],
    [repeatsHref({ tenant_id: tenantId, tz }), 'Charged twice'],
    ...(role === 'support'
      ? []
      : [[movementsHref({ tenant_id: tenantId, tz }), 'Account movements']]),
    ...(kind === 'admin' ? [[tenantHref(tenantId, { tz }), 'Users, tokens and limits']] : []),
  ] as const
  return (
    <p class="note places">
      {places.map(([href, words]) => (
        <a key={href} href={href}>
          {words}
        </a>
      ))}
    </p>
  )
}

const titleOf = ({ tenantName, tenantId }: OverviewFacts): string | undefined =>
  tenantName ?? tenantId

function OverviewPage({
  facts,
  view,
}: {
  readonly facts: OverviewFacts
  readonly view: View
}): JSX.Element {
  const { tenantId, tiles, tenants, failures, query: asked } = facts
  return (
    <>
      <h1 class="title">{titleOf(facts) ?? 'All tenants, yesterday and today'}</h1>
      {tenantId === undefined ? null : (
        <Places tenantId={tenantId} tz={asked.tz} token={view.token} />
      )}
      {tiles === undefined ? null : <Tiles of={tiles} tz={asked.tz} clock={view.clock} />}
      <Spend facts={facts} />
      {tenants === undefined ? null : <Tenants of={tenants} />}
      <FactsPanel
        id="latest-failures"
        title="Latest failures"
        of={failures}
        show={({ items }) => (
          <Table
            label="Latest failures"
            columns={failureColumns(view.clock)}
            rows={items}
            keyOf={({ id }) => id}
            empty="No request has failed."
          />
        )}
      />
    </>
  )
}

/** The first page: one tenant, or for an operator all of them. */
export const overviewPage: Page<typeof query, OverviewFacts> = {
  path: paths.overview,
  roles: ['finance', 'support'],
  query,
  read,
  tenantsOf: ({ tenantId }) => [tenantId],
  title: (facts) => titleOf(facts) ?? 'All tenants',
  show: (facts, view) => <OverviewPage facts={facts} view={view} />,
}
