import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { withFiles } from '../../api/kit/answers/lists.ts'
import { AsOf } from '../../api/query/schemas.ts'
import { readSpeed, readSpeeds, speedQuerySchema } from '../../api/query/speed.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { Download, tableFormats } from '../kit/download.tsx'
import { fieldOf, type FilterField, timeFields } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { apiPath, failedHref, paths, speedHref } from '../kit/href.ts'
import { factsOrWords, Panel, type PanelFacts } from '../kit/panel.tsx'
import { withTime } from '../kit/time-pages.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Facts, grouped, Moment } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
import { seesOtherTenants } from '../session/reading-as.ts'
import {
  type FoundSpeed as Found,
  lasted,
  percent,
  SpeedCharts,
  type SpeedItem as Item,
} from './speed-charts.tsx'
import { FailureTabs } from './tabs.tsx'

/** Speed and failures: how many requests were answered and failed, and how long the answered ones took. */

const { tz, from, to, time_preset, tenant_id, model, channel_id } = speedQuerySchema([]).properties
const groups = ['model', 'surface', 'channel'] as const
const query = Type.Object({
  tz,
  from,
  to,
  time_preset,
  tenant_id,
  model,
  channel_id,
  surface: Type.Optional(Type.String({ maxLength: 64 })),
  by: Type.Optional(Type.Enum([...groups])),
})
type Query = Static<typeof query>
const fileQuery = Type.Object({ ...query.properties, as_of: Type.Optional(AsOf) })

interface SpeedFacts {
  readonly query: Query
  readonly seesChannels: boolean
  readonly found: PanelFacts<{ readonly groups: Found; readonly times: Found }>
}

const PART = 'speed'
/** A longer time is shown by days. */
const HOURS_SHOWN_MS = 3 * 86_400_000

const fieldsFor = (seesChannels: boolean): readonly FilterField[] => [
  ...timeFields('recent'),
  {
    name: 'by',
    label: 'By',
    options: seesChannels ? groups : groups.filter((name) => name !== 'channel'),
    noChoice: null,
  },
  fieldOf.tenant,
  fieldOf.model,
  { name: 'surface', label: 'Surface', placeholder: 'v1.chat' },
  ...(seesChannels ? [{ name: 'channel_id', label: 'Channel' }] : []),
]

/** A bar as long as a share of the longest one; its figure stands in the cell before it. */
function Bar({ share }: { readonly share: number }): JSX.Element {
  return (
    <svg class="share" width="100%" height="10" aria-hidden="true" focusable="false">
      <rect width={`${(share * 100).toFixed(1)}%`} height="10" />
    </svg>
  )
}

const firstByteColumns: readonly TableColumn<Item>[] = [
  { name: 'first byte', right: true, cell: ({ first_byte_median_ms: ms }) => lasted(ms) },
  { name: 'first byte, 95 %', right: true, cell: ({ first_byte_p95_ms: ms }) => lasted(ms) },
]

function columnsOf(items: readonly Item[], first: TableColumn<Item>): readonly TableColumn<Item>[] {
  const slowest = Math.max(1, ...items.map(({ p95_ms: ms }) => ms ?? 0))
  return [
    first,
    { name: 'requests', right: true, cell: ({ requests }) => grouped(String(requests)) },
    { name: 'failed', right: true, cell: ({ failed }) => grouped(String(failed)) },
    {
      name: 'error rate',
      right: true,
      cell: ({ error_rate: rate }) =>
        rate === 0 ? '0 %' : <span class="state bad">{percent(rate)}</span>,
    },
    { name: 'median', right: true, cell: ({ median_ms: ms }) => lasted(ms) },
    { name: '95 % within', right: true, cell: ({ p95_ms: ms }) => lasted(ms) },
    ...(items.some(({ first_byte_p95_ms: ms }) => ms !== null) ? firstByteColumns : []),
    {
      name: 'compared',
      narrow: 'drop',
      cell: ({ p95_ms: ms }) => <Bar share={(ms ?? 0) / slowest} />,
    },
  ]
}

/** The end of an hour or a day that begins then; a day on which the clocks change has another length. */
function endOf(items: readonly Item[], index: number, end: string): string {
  return items[index + 1]?.key ?? end
}

function TotalPanel({ found: { total, one_of: oneOf } }: { readonly found: Found }): JSX.Element {
  return (
    <Panel id="total" title="All requests of this time">
      <Facts
        facts={[
          ['requests', grouped(String(total.requests))],
          ['failed', grouped(String(total.failed))],
          ['error rate', percent(total.error_rate)],
          ['median', lasted(total.median_ms) || 'none was answered'],
          ['95 % within', lasted(total.p95_ms) || 'none was answered'],
          ['first byte, median', lasted(total.first_byte_median_ms) || 'no stream was answered'],
          ['first byte, 95 % within', lasted(total.first_byte_p95_ms) || 'no stream was answered'],
        ]}
      />
      <p class="note">
        Durations are from the request to its end, of answered requests; the first byte is that of
        answered streams. Refused requests are not counted.{' '}
        {oneOf === 1
          ? null
          : `One of every ${oneOf} answered requests was read: their numbers are estimates.`}
      </p>
    </Panel>
  )
}

/** Hours, or days of a longer time: each leads to its failures. */
function TimesPanel({
  times,
  query: { tenant_id, tz },
  view: { clock },
}: {
  readonly times: Found
  readonly query: Query
  readonly view: View
}): JSX.Element {
  const isDays = times.group_by === 'day'
  const starts = new Map(times.items.map(({ key }, index) => [key, index]))
  const cell = ({ key }: Item) => {
    const end = endOf(times.items, starts.get(key) ?? 0, times.to)
    const atMs = fromTimestamp(key)
    return (
      <a href={failedHref({ tenant_id, tz, from: key, to: end })}>
        {isDays ? clock.day(atMs) : <Moment atMs={atMs} clock={clock} />}
      </a>
    )
  }
  return (
    <Panel id="times" title={isDays ? 'By day' : 'By hour'}>
      <Table
        label={isDays ? 'Speed by day' : 'Speed by hour'}
        columns={columnsOf(times.items, { name: isDays ? 'day' : 'hour', narrow: 'lead', cell })}
        rows={times.items}
        keyOf={({ key }) => key}
        empty="No request ended in this time."
      />
    </Panel>
  )
}

function GroupsPanel({ found, query }: { readonly found: Found; readonly query: Query }) {
  const { by = 'model', time_preset: _preset, ...asked } = query
  const { from, to } = found
  const bounded = { ...asked, by, from, to }
  const narrowed = { model: 'model', surface: 'surface', channel: 'channel_id' }[by]
  return (
    <Panel id="groups" title={`By ${by}`}>
      <Table
        label={`Speed by ${by}`}
        columns={columnsOf(found.items, {
          name: by,
          narrow: 'lead',
          cell: ({ key }) => <a href={speedHref({ ...bounded, [narrowed]: key })}>{key}</a>,
        })}
        rows={found.items}
        keyOf={({ key }) => key}
        empty="No request ended in this time. Choose a longer time, or clear a filter."
      />
      <Download
        page={speedHref()}
        query={bounded}
        asOf={found.as_of}
        from={apiPath('/speed', { ...asked, from, to, group_by: by })}
      />
    </Panel>
  )
}

function SpeedPage({ facts, view }: { readonly facts: SpeedFacts; readonly view: View }) {
  const { query, seesChannels, found } = facts
  return (
    <>
      <h1 class="title">Speed and failures</h1>
      <FailureTabs at="speed" asked={query} />
      <FilterForm
        action={speedHref()}
        part={PART}
        fields={fieldsFor(seesChannels)}
        values={{ ...query, by: query.by ?? 'model' }}
      />
      {'why' in found ? (
        <div class="panel" id={PART} aria-live="polite">
          <p class="note">{found.why}</p>
        </div>
      ) : (
        <div id={PART} aria-live="polite">
          <TotalPanel found={found.facts.groups} />
          <SpeedCharts times={found.facts.times} query={query} clock={view.clock} />
          <GroupsPanel found={found.facts.groups} query={query} />
          <TimesPanel times={found.facts.times} query={query} view={view} />
        </div>
      )}
    </>
  )
}

/** The groups of the page as a file. */
export const speedFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: async (services, who, { query: { by = 'model', ...asked } }) => {
    const list = await readSpeed(services, who, { ...withTime(asked, '24h'), group_by: by })
    return { list: withFiles(list, true), tenantIds: [asked.tenant_id] }
  },
}

/** Speed and failures of the last day, unless another time is asked for. */
export const speedPage: Page<typeof query, SpeedFacts> = {
  path: paths.speed,
  roles: ['finance', 'support'],
  query,
  read: async (services, who, { query: asked, token }) => {
    const shown = withTime(asked, '24h')
    const { by = 'model', ...filter } = shown
    const found = await factsOrWords(async () => {
      const groupsFor = ({ fromMs, toMs }: Record<'fromMs' | 'toMs', number>) =>
        [by, toMs - fromMs > HOURS_SHOWN_MS ? 'day' : 'hour'] as const
      const [groups, times] = await readSpeeds(services, who, filter, groupsFor)
      return { groups: await groups.page(), times: await times.page() }
    })
    return { query: shown, seesChannels: seesOtherTenants(token), found }
  },
  tenantsOf: ({ query: { tenant_id: tenantId } }) => [tenantId],
  filter: () => ({
    title: 'Speed and failures',
    action: speedHref(),
    part: PART,
    fields: fieldsFor(false),
  }),
  title: () => 'Speed and failures',
  show: (facts, view) => <SpeedPage facts={facts} view={view} />,
}
