import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { failureMembers, readFailures } from '../../api/query/failures.ts'
import { readRefusals } from '../../api/query/refusals.ts'
import type { TimeRange } from '../../api/query/time-range.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { fieldOf, timeFields } from '../kit/fields.ts'
import { type FilterField, FilterForm } from '../kit/filter.tsx'
import { failedHref, findHref, lifeHref, paths } from '../kit/href.ts'
import { factsOrWords, FactsPanel, type PanelFacts } from '../kit/panel.tsx'
import { pageOf, Pager, withTime } from '../kit/time-pages.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { grouped, Id, Moment, type ZoneClock } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import { tenantsShown } from '../session/reading-as.ts'

/** Requests without a result: those that reached a provider, and counts of those that were refused before. */

type Failures = Awaited<ReturnType<Awaited<ReturnType<typeof readFailures>>['page']>>
type Refusals = Awaited<ReturnType<ReturnType<typeof readRefusals>['page']>>
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
  fieldOf.zone,
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
  { name: 'model', cell: ({ model }) => model },
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
      <Id id={last.request_id} href={findHref({ q: last.request_id })} />
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

function FailedPage({ facts, view }: { readonly facts: FailedFacts; readonly view: View }) {
  const { query, failures, refusals } = facts
  const { clock } = view
  return (
    <>
      <h1 class="title">Failed and refused</h1>
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
            </>
          )}
        />
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
            </>
          )}
        />
      </div>
    </>
  )
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
      factsOrWords(async () => readRefusals(services, who, { ...first, limit: 50 }).page()),
    ])
    return { query: shown, failures, refusals }
  },
  tenantsOf: ({ query: asked, failures, refusals }) =>
    tenantsShown(asked, [
      ...('why' in failures ? [] : failures.facts.list.items),
      ...('why' in refusals ? [] : refusals.facts.items),
    ]),
  title: () => 'Failed and refused',
  show: (facts, view) => <FailedPage facts={facts} view={view} />,
}
