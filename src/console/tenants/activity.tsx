import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { lifeStates } from '../../../projections/timeline/query.ts'
import { LivesQuerySchema, readLives } from '../../api/query/lives/list.ts'
import { formatDuration } from '../../kernel/duration.ts'
import { KnownId } from '../../api/kit/routes/account-surface.ts'
import { readOwnerNames } from '../../api/query/owner-names.ts'
import type { TimeRange } from '../../api/query/time-range.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { withFiles } from '../../api/kit/answers/lists.ts'
import { AsOf } from '../../api/query/schemas.ts'
import { fieldReader } from '../form-routes.ts'
import { Download, tableFormats } from '../kit/download.tsx'
import { fieldOf, type FilterField, timeFields } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { activityHref, apiPath, lifeHref, paths } from '../kit/href.ts'
import { factsOrWords, type PanelFacts } from '../kit/panel.tsx'
import { boundedOf, pageOf, Pager, withTime } from '../kit/time-pages.tsx'
import { hasLabels, Labels } from '../kit/lines.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Id, Money, Moment, State } from '../kit/values.tsx'
import { type Page, Unchanged, type View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'

/** The activity of a tenant by lives: a call or a task is one row, with how it stands now. */

type Lives = Awaited<ReturnType<Awaited<ReturnType<typeof readLives>>['page']>>
type Life = Lives['items'][number]

const { tz, from, to, time_preset, type, model, state, code, user_id, token_id, cursor, since } =
  LivesQuerySchema.properties
const times = { tz, from, to, time_preset }
const query = Type.Object({ ...times, type, model, state, code, user_id, token_id, cursor, since })
type Query = Static<typeof query>
const { cursor: _cursor, since: _since, ...members } = query.properties
const fileQuery = Type.Object({ ...members, as_of: Type.Optional(AsOf) })

const readId = fieldReader(Type.Object({ tenant_id: KnownId }))

interface ActivityFacts {
  readonly tenantId: string
  readonly tenantName: string | undefined
  readonly query: Query
  readonly list: PanelFacts<{ readonly lives: Lives; readonly range: TimeRange }>
}

const PART = 'lives'

const fields: readonly FilterField[] = [
  ...timeFields('recent'),
  { name: 'type', label: 'Kind', options: ['task', 'call'] },
  fieldOf.model,
  { name: 'state', label: 'State', options: lifeStates },
  { name: 'code', label: 'Code', placeholder: 'no_channel' },
  fieldOf.user,
  fieldOf.token,
]

function columnsIn(
  { tenantId, query }: ActivityFacts,
  view: View,
  isLabelled: boolean,
): readonly TableColumn<Life>[] {
  const { clock } = view
  const { time_preset: _preset, ...asked } = query
  const fromOf = ({ at }: Life): string => {
    // The list of the API from this life on to it.
    const bounds = { from: at, to: toTimestamp(fromTimestamp(at) + 1) }
    return apiPath('/lives', { tenant_id: tenantId, type: asked.type, ...bounds })
  }
  const money = (name: 'held' | 'charged') => (life: Life) =>
    life[name] === '0' ? (
      ''
    ) : (
      <Money amount={life[name]} currency={life.currency ?? undefined} from={fromOf(life)} />
    )
  return [
    { name: 'started', cell: ({ at }) => <Moment atMs={fromTimestamp(at)} clock={clock} /> },
    {
      name: 'life',
      narrow: 'lead',
      cell: ({ id }) => <Id id={id} href={lifeHref(id, { tz: query.tz })} />,
    },
    { name: 'model', oneLine: true, cell: ({ model }) => model },
    { name: 'user', cell: ({ user_id: user }) => user ?? '' },
    { name: 'state', cell: ({ state }) => <State word={state} /> },
    {
      name: 'last step',
      cell: ({ last_step: title, last_at: at, at: begun }) =>
        at === begun ? (
          title
        ) : (
          <>
            {title}, <Moment atMs={fromTimestamp(at)} clock={clock} short />
          </>
        ),
    },
    {
      name: 'took',
      right: true,
      cell: ({ duration_ms: ms }) => (ms === null ? '' : formatDuration(ms)),
    },
    ...(isLabelled
      ? [
          {
            name: 'end user and tags',
            cell: (life: Life) => <Labels line={life} isLinked={view.token.role !== 'support'} />,
          },
        ]
      : []),
    { name: 'held', right: true, cell: money('held') },
    { name: 'charged', right: true, cell: money('charged') },
  ]
}

/** The address that shows the newest lives of the same filter, and the one that asks whether there is more. */
function addressesOf({ tenantId, query }: ActivityFacts, lives: Lives) {
  const { cursor: _cursor, since: _since, ...asked } = query
  return {
    again: activityHref(tenantId, asked),
    follow: activityHref(tenantId, { ...asked, since: lives.as_of }),
  }
}

function List({
  facts,
  lives,
  range,
  view,
}: {
  readonly facts: ActivityFacts
  readonly lives: Lives
  readonly range: TimeRange
  readonly view: View
}): JSX.Element {
  const { tenantId, query } = facts
  const { again, follow } = addressesOf(facts, lives)
  // The page asks for an event of the tenant after the one that the list is as of, by one index, and is
  // answered 204 while there is none. Each time counts in QUERY_RATE_LIMIT_RPM; browsers slow the
  // timers of pages that are not seen down to one a minute, and only the newest page asks.
  const asks =
    query.cursor === undefined
      ? {
          'hx-get': follow,
          'hx-trigger': 'every 5s',
          'hx-target': `#${PART}`,
          'hx-select': `#${PART}`,
          // Rows without a change keep their focus and selection, and screen readers do not repeat them.
          'hx-swap': 'outerMorph',
        }
      : {}
  const bounded = boundedOf(query, range)
  const ofApi = { ...bounded, tenant_id: tenantId, as_of: lives.as_of }
  return (
    <div class="panel" id={PART} aria-live="polite" {...asks}>
      <Table
        label="Calls and tasks"
        columns={columnsIn(facts, view, lives.items.some(hasLabels))}
        rows={lives.items}
        keyOf={({ id }) => id}
        isFollowed
        empty="No call or task of this tenant started in this time. Choose a longer time, or clear a filter."
      />
      <Pager
        href={(of) => activityHref(tenantId, of)}
        query={query}
        range={range}
        next={lives.next_cursor}
      />
      <Download
        page={activityHref(tenantId)}
        query={bounded}
        asOf={lives.as_of}
        from={apiPath('/lives', ofApi)}
      />
      <p class="note">
        <a href={again}>Refresh</a>
      </p>
    </div>
  )
}

function ActivityPage({ facts, view }: { readonly facts: ActivityFacts; readonly view: View }) {
  const { tenantId, tenantName, query, list } = facts
  return (
    <>
      <h1 class="title">Activity of {tenantName ?? tenantId}</h1>
      <FilterForm action={activityHref(tenantId)} part={PART} fields={fields} values={query} />
      {'why' in list ? (
        <div class="panel" id={PART} aria-live="polite">
          <p class="note">{list.why}</p>
        </div>
      ) : (
        <List facts={facts} {...list.facts} view={view} />
      )}
    </>
  )
}

/** All lives of a filter. */
export const livesFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: async (services, who, { id, query: asked }) => {
    const { tenant_id: tenantId } = readId({ tenant_id: id })
    const dated = { ...withTime(asked, '24h'), tenant_id: tenantId }
    const list = await readLives(services, who, dated)
    return { list: withFiles(list, true), tenantIds: [tenantId] }
  },
}

/** Lives of the last day, unless another time is asked for. */
export const activityPage: Page<typeof query, ActivityFacts> = {
  path: paths.activity,
  roles: ['finance', 'support'],
  query,
  read: async (services, who, { id, query: asked }) => {
    const { tenant_id: tenantId } = readId({ tenant_id: id })
    const { since: position, ...shown } = withTime(asked, '24h')
    const listed = { ...shown, tenant_id: tenantId }
    if (position !== undefined) {
      const newer = await readLives(services, who, { ...listed, since: position, limit: 1 })
      if ((await newer.page()).items.length === 0) return new Unchanged()
    }
    const list = await factsOrWords(async () => {
      const { facts: range, page } = await readLives(
        services,
        who,
        pageOf(listed, services.clock.nowMs()),
      )
      return { lives: await page(), range }
    })
    const { tenant: tenantName } = await readOwnerNames(services, who, { tenantId })
    return { tenantId, tenantName, query: shown, list }
  },
  tenantsOf: ({ tenantId }) => [tenantId],
  tenantIn: (id) => id,
  names: (id) => ({ tenant_id: id }),
  filter: (id) => ({
    title: `Activity of ${id}`,
    action: activityHref(id),
    part: PART,
    fields,
  }),
  title: ({ tenantId, tenantName }) => `Activity of ${tenantName ?? tenantId}`,
  show: (facts, view) => <ActivityPage facts={facts} view={view} />,
}
