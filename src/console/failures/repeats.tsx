import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { MAX_PAGE_LINES, withFiles } from '../../api/kit/answers/lists.ts'
import { readRepeats, RepeatsQuerySchema } from '../../api/query/repeats.ts'
import { readTimeRange, type TimeRange } from '../../api/query/time-range.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { formatDuration } from '../../kernel/duration.ts'
import { Download, tableFormats } from '../kit/download.tsx'
import { fieldOf, type FilterField, timeFields } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { activityHref, apiPath, lifeHref, overviewHref, paths, repeatsHref } from '../kit/href.ts'
import { factsOrWords, type PanelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { boundedOf, pageOf, Pager, withTime } from '../kit/time-pages.tsx'
import { grouped, Id, Money, Moment } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
import { namesOfOneTenant, tenantsShown } from '../session/reading-as.ts'
import { FailureTabs } from './tabs.tsx'

/** Requests that were charged twice: the same body again, each with the request before it. */

type Repeats = Awaited<ReturnType<Awaited<ReturnType<typeof readRepeats>>['page']>>
type Repeat = Repeats['items'][number]

const { tz, from, to, time_preset, tenant_id, user_id, token_id, model, cursor, as_of } =
  RepeatsQuerySchema.properties
const members = { tz, from, to, time_preset, tenant_id, user_id, token_id, model }
const query = Type.Object({ ...members, cursor })
const fileQuery = Type.Object({ ...members, as_of })
type Query = Static<typeof query>

interface RepeatsFacts {
  readonly query: Query
  readonly found: PanelFacts<{ readonly list: Repeats; readonly range: TimeRange }>
}

const PART = 'repeats'
const fields: readonly FilterField[] = [
  ...timeFields('recent'),
  fieldOf.tenant,
  fieldOf.user,
  fieldOf.token,
  fieldOf.model,
]

/** The user of the requests, or their tenant where they have none, with the end of the token. */
function OwnerOf({ tenant_id: tenantId, user_id: userId, token_last_four: last }: Repeat) {
  const page = userId === null ? overviewHref({ tenant_id: tenantId }) : undefined
  return (
    <>
      <a href={page ?? activityHref(tenantId, { user_id: userId ?? undefined })}>
        {userId ?? tenantId}
      </a>
      {last === null ? null : <span class="note"> …{last}</span>}
    </>
  )
}

const countInWords = (why: Repeat['why'], requests: number): string => {
  const count = grouped(String(requests))
  if (why === 'same_body') return `${count} with the same body`
  return `${count} ${requests === 1 ? 'retry' : 'retries'}`
}

const columnsIn = ({ clock }: View, from: string): readonly TableColumn<Repeat>[] => [
  { name: 'time', cell: ({ at }) => <Moment atMs={fromTimestamp(at)} clock={clock} /> },
  {
    name: 'life',
    narrow: 'lead',
    cell: ({ id }) => <Id id={id} href={lifeHref(id)} />,
  },
  {
    name: 'same body as',
    cell: ({ earlier_id: id }) => <Id id={id} href={lifeHref(id)} />,
  },
  {
    name: 'apart',
    oneLine: true,
    cell: ({ after_ms: ms }) => formatDuration(Math.max(0, ms)),
  },
  {
    name: 'client says',
    cell: ({ why, retry }) =>
      why === 'same_body' ? 'nothing' : retry === null ? 'the first was a retry' : `retry ${retry}`,
  },
  { name: 'model', oneLine: true, cell: (one) => one.model },
  { name: 'user', cell: OwnerOf },
  {
    name: 'first charged',
    money: ({ earlier_amount: amount, currency }) => ({ amount, currency, from }),
  },
  { name: 'charged again', money: ({ amount, currency }) => ({ amount, currency, from }) },
  {
    name: 'refunded',
    cell: ({ refunded, earlier_refunded: earlier }) => {
      const parts = [
        ...(refunded === '0' ? [] : [grouped(refunded)]),
        ...(earlier === '0' ? [] : [`${grouped(earlier)} of the first`]),
      ]
      return parts.length === 0 ? 'nothing' : parts.join(', ')
    },
  },
]

function Totals({ of }: { readonly of: Repeats['totals'] }): JSX.Element | null {
  if (of.length === 0) return null
  return (
    <ul class="totals" aria-label="Totals">
      {of.map(({ why, currency, requests, amount, refunded }) => (
        <li key={`${why} ${currency}`}>
          <Money amount={amount} currency={currency} />{' '}
          <span class="note">
            charged again for {countInWords(why, requests)}
            {refunded === '0' ? '' : `, ${grouped(refunded)} of it refunded`}
          </span>
        </li>
      ))}
    </ul>
  )
}

function List({
  list: { items, totals, next_cursor: next, as_of: asOf },
  range,
  asked,
  view,
}: {
  readonly list: Repeats
  readonly range: TimeRange
  readonly asked: Query
  readonly view: View
}): JSX.Element {
  const bounded = boundedOf(asked, range)
  const from = apiPath('/repeats', { ...bounded, as_of: asOf })
  return (
    <>
      <Totals of={totals} />
      <Table
        label="Requests that were charged twice"
        columns={columnsIn(view, from)}
        rows={items}
        keyOf={({ id }) => id}
        empty={
          next === null
            ? 'No request was charged twice in this time.'
            : 'No request of this page was charged twice. Older ones are read by “Older”.'
        }
      />
      <p class="note">
        The same body again, with the same token, within ten minutes, where both were charged. A
        page reads 6,000 events at the most, and up to 12,000 of the ten minutes before these; the
        sums are those of the page, and the files have all pages. With more than 20 events a second
        choose a tenant.
      </p>
      <Pager href={repeatsHref} query={asked} range={range} next={next} />
      <Download page={repeatsHref()} query={bounded} asOf={asOf} from={from} />
    </>
  )
}

/** All requests of a filter that were charged twice. */
export const repeatsFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: async (services, who, { query: asked }) => {
    const dated = withTime(asked, '24h')
    const list = await readRepeats(services, who, dated)
    // A user and a token are of one tenant: the first rows name it.
    const rows = namesOfOneTenant(asked)
      ? (await (await readRepeats(services, who, { ...dated, limit: MAX_PAGE_LINES })).page()).items
      : []
    return { list: withFiles(list, true), tenantIds: tenantsShown(asked, rows) }
  },
}

/** Requests of the last day that were charged twice, unless another time is asked for. */
export const repeatsPage: Page<typeof query, RepeatsFacts> = {
  path: paths.repeats,
  roles: ['finance', 'support'],
  query,
  read: async (services, who, { query: asked }) => {
    const shown = withTime(asked, '24h')
    const nowMs = services.clock.nowMs()
    const found = await factsOrWords(async () => ({
      list: await (await readRepeats(services, who, pageOf(shown, nowMs))).page(),
      range: readTimeRange(shown, nowMs),
    }))
    return { query: shown, found }
  },
  tenantsOf: ({ query: asked, found }) =>
    tenantsShown(asked, 'why' in found ? [] : found.facts.list.items),
  filter: () => ({ title: 'Charged twice', action: repeatsHref(), part: PART, fields }),
  title: () => 'Charged twice',
  show: ({ query: asked, found }, view) => (
    <>
      <h1 class="title">Charged twice</h1>
      <FailureTabs at="repeats" asked={asked} />
      <FilterForm action={repeatsHref()} part={PART} fields={fields} values={asked} />
      <div class="panel" id={PART} aria-live="polite">
        {'why' in found ? (
          <p class="note">{found.why}</p>
        ) : (
          <List list={found.facts.list} range={found.facts.range} asked={asked} view={view} />
        )}
      </div>
    </>
  ),
}
