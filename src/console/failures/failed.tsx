import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { failureMembers, readFailures } from '../../api/query/failures.ts'
import { AsOf } from '../../api/query/schemas.ts'
import { readRefusals } from '../../api/query/refusals.ts'
import type { TimeRange } from '../../api/query/time-range.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { fieldOf, type FilterField, timeFields } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import {
  apiPath,
  failedHref,
  lifeHref,
  paths,
  refusedHref,
  refusedRequestHref,
} from '../kit/href.ts'
import { factsOrWords, FactsPanel, type PanelFacts } from '../kit/panel.tsx'
import { boundedOf, pageOf, Pager, withTime } from '../kit/time-pages.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { grouped, Id, Moment, type ZoneClock } from '../kit/values.tsx'
import { withFiles, MAX_PAGE_LINES } from '../../api/kit/answers/lists.ts'
import { Download, tableFormats } from '../kit/download.tsx'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
import { namesOfOneTenant, tenantsShown } from '../session/reading-as.ts'
import { FailureTabs } from './tabs.tsx'

/** Requests without a result: those that reached a provider, and counts of those that were refused before. */

type Failures = Awaited<ReturnType<Awaited<ReturnType<typeof readFailures>>['page']>>
type Refusals = Awaited<ReturnType<Awaited<ReturnType<typeof readRefusals>>['page']>>
type Failure = Failures['items'][number]
type Refused = Refusals['items'][number]

const { tz, from, to, time_preset, tenant_id, token_id, code, request_id, cursor } = failureMembers
const query = Type.Object({
  tz,
  from,
  to,
  time_preset,
  tenant_id,
  token_id,
  code,
  request_id,
  cursor,
})
type Query = Static<typeof query>

const { cursor: _cursor, ...members } = query.properties
const refusedQuery = Type.Object(members)
const fileQuery = Type.Object({ ...members, as_of: Type.Optional(AsOf) })

interface FailedFacts {
  readonly query: Query
  readonly failures: PanelFacts<{ readonly list: Failures; readonly range: TimeRange }>
  readonly refusals: PanelFacts<Refusals>
}

const PART = 'failed'
const fields: readonly FilterField[] = [
  ...timeFields('recent'),
  fieldOf.tenant,
  fieldOf.token,
  { name: 'code', label: 'Code', placeholder: 'no_channel' },
]

const ofToken = ({ tenant_id: tenant, token_last_four: last }: Failure | Refused): string =>
  last === null ? tenant : `${tenant} …${last}`

const failureColumns = (clock: ZoneClock): readonly TableColumn<Failure>[] => [
  { name: 'time', cell: ({ at }) => <Moment atMs={fromTimestamp(at)} clock={clock} /> },
  { name: 'id', narrow: 'lead', cell: ({ id }) => <Id id={id} href={lifeHref(id)} /> },
  { name: 'code', cell: (failure) => <code>{failure.code}</code> },
  {
    name: 'message',
    cell: ({ message, count }) => (count === 1 ? message : `${message} (${count} times)`),
  },
  { name: 'model', oneLine: true, cell: ({ model }) => model },
  { name: 'owner', cell: ofToken },
  {
    name: 'not charged',
    right: true,
    cell: ({ not_charged: lost }) =>
      lost === null ? '' : `${grouped(lost.amount)} ${lost.currency}`,
  },
]

/** The last request of a count. */
function LastRequest({ samples }: Refused): JSX.Element {
  const [last] = samples
  if (last === undefined) return <></>
  const param = last.param === null ? '' : ` (${last.param})`
  return (
    <>
      <Id id={last.request_id} href={refusedRequestHref(last.request_id)} />
      {param}
    </>
  )
}

const refusalColumns = (clock: ZoneClock): readonly TableColumn<Refused>[] => [
  {
    name: 'last time',
    cell: ({ last_at: at }) => <Moment atMs={fromTimestamp(at)} clock={clock} />,
  },
  { name: 'count', right: true, cell: ({ count }) => grouped(String(count)) },
  { name: 'code', narrow: 'lead', cell: (one) => <code>{one.code ?? 'any'}</code> },
  { name: 'route', cell: ({ route }) => route ?? 'any' },
  { name: 'owner', cell: ofToken },
  { name: 'last request', cell: LastRequest },
]

function RefusalsPanel({
  refusals,
  query,
  clock,
}: {
  readonly refusals: PanelFacts<Refusals>
  readonly query: Query
  readonly clock: ZoneClock
}): JSX.Element {
  const { cursor: _ofFailures, ...refused } = query
  return (
    <FactsPanel
      id="refusals"
      title="Refused, by hour"
      of={refusals}
      show={({ items, next_cursor: next }) => (
        <>
          <p class="note">
            Counted by token, route and reason. A process that is killed loses the counts of its
            last seconds.
          </p>
          <Table
            label="Refused requests"
            columns={refusalColumns(clock)}
            rows={items}
            keyOf={(one) => `${one.hour} ${one.token_id} ${one.route} ${one.code}`}
            empty="No request was refused in this time."
          />
          {next === null ? null : (
            <p class="note">There are more. Choose a shorter time, a token or a code.</p>
          )}
          <Download page={refusedHref()} query={refused} from={apiPath('/refusals', refused)} />
        </>
      )}
    />
  )
}

function FailedPage({ facts, view }: { readonly facts: FailedFacts; readonly view: View }) {
  const { query, failures, refusals } = facts
  const { clock } = view
  return (
    <>
      <h1 class="title">Failed and refused</h1>
      <FailureTabs at="failed" asked={query} />
      <FilterForm action={failedHref()} part={PART} fields={fields} values={query} />
      <div id={PART} aria-live="polite">
        <FactsPanel
          id="failures"
          title="Failed"
          of={failures}
          show={({ list, range }) => (
            <>
              <Table
                label="Failed requests"
                columns={failureColumns(clock)}
                rows={list.items}
                keyOf={({ id }) => id}
                empty="No request failed in this time. Choose a longer time, or clear a filter."
              />
              <Pager href={failedHref} query={query} range={range} next={list.next_cursor} />
              <Download
                page={failedHref()}
                query={boundedOf(query, range)}
                asOf={list.as_of}
                from={apiPath('/failures', { ...boundedOf(query, range), as_of: list.as_of })}
              />
            </>
          )}
        />
        <RefusalsPanel refusals={refusals} query={query} clock={clock} />
      </div>
    </>
  )
}

/** All failures of a filter. */
export const failuresFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: async (services, who, { query: asked }) => {
    const list = await readFailures(services, who, withTime(asked, '24h'))
    // A token and a request are of one tenant: the first rows name it.
    const first = { ...withTime(asked, '24h'), limit: MAX_PAGE_LINES }
    const rows = namesOfOneTenant(asked)
      ? (await (await readFailures(services, who, first)).page()).items
      : []
    return { list: withFiles(list, true), tenantIds: tenantsShown(asked, rows) }
  },
}

/** All counts of refused requests of a filter. */
export const refusalsFile: PageFile<typeof refusedQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: refusedQuery,
  read: async (services, who, { query: asked }) => {
    const dated = withTime(asked, '24h')
    const first = { ...dated, limit: MAX_PAGE_LINES }
    const rows = namesOfOneTenant(asked)
      ? (await (await readRefusals(services, who, first)).page()).items
      : []
    const list = withFiles(await readRefusals(services, who, dated), true)
    return { list, tenantIds: tenantsShown(asked, rows) }
  },
}

/** Failures and refusals of the last day, unless another time is asked for. */
export const failedPage: Page<typeof query, FailedFacts> = {
  path: paths.failed,
  roles: ['finance', 'support'],
  query,
  read: async (services, who, { query: asked }) => {
    const shown = withTime(asked, '24h')
    const { cursor: _ofFailures, ...first } = shown
    const [failures, refusals] = await Promise.all([
      factsOrWords(async () => {
        const { facts: range, page } = await readFailures(
          services,
          who,
          pageOf(shown, services.clock.nowMs()),
        )
        return { list: await page(), range }
      }),
      factsOrWords(async () => (await readRefusals(services, who, { ...first, limit: 50 })).page()),
    ])
    return { query: shown, failures, refusals }
  },
  tenantsOf: ({ query: asked, failures, refusals }) =>
    tenantsShown(asked, [
      ...('why' in failures ? [] : failures.facts.list.items),
      ...('why' in refusals ? [] : refusals.facts.items),
    ]),
  filter: () => ({ title: 'Failed and refused', action: failedHref(), part: PART, fields: fields }),
  title: () => 'Failed and refused',
  show: (facts, view) => <FailedPage facts={facts} view={view} />,
}
