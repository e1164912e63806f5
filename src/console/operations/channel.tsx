import type { JSX } from 'preact'
import { Type } from 'typebox'
import type { OperationsReads } from '../../api/operating/operations.ts'
import { RequestError } from '../../api/kit/request-error.ts'
import { readFailures } from '../../api/query/failures.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { formatDuration } from '../../kernel/duration.ts'
import { lifeHref, operationsHref, paths } from '../kit/href.ts'
import { FactsPanel, Panel, type PanelFacts, panelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Facts, Id, Moment } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import { type ChannelFacts, channelState } from './channel-words.ts'
import { requireOperatorOf } from './operator.ts'

/** One channel: its state in this process, its last failures, and the requests that failed there. */

type Failed = Awaited<ReturnType<Awaited<ReturnType<typeof readFailures>>['page']>>['items']

interface Shown {
  readonly channel: ChannelFacts
  readonly settings: NonNullable<ReturnType<OperationsReads['channel']>>
  readonly failed: PanelFacts<Failed>
}

const query = Type.Object({ tz: timeRangeMembers.tz })
const MOST_FAILED = 10

function StatePanel({ facts, view }: { readonly facts: Shown; readonly view: View }): JSX.Element {
  const { channel, settings } = facts
  const { words, tone } = channelState(channel)
  const ago = (agoMs: number | undefined, none: string) =>
    agoMs === undefined ? (
      none
    ) : (
      <>
        <Moment atMs={view.nowMs - agoMs} clock={view.clock} />, {formatDuration(Math.round(agoMs))}{' '}
        ago
      </>
    )
  return (
    <Panel id="state" title="In this process">
      <Facts
        facts={[
          ['state', <span class={`state ${tone}`}>{words}</span>],
          ['fails since', ago(channel.failingForMs, 'it does not fail')],
          ['last answer', ago(channel.workedAgoMs, 'none since the process started')],
          ['calls now', `${channel.callsInFlight} of ${settings.maxConcurrent} at a time`],
          ['users it is paused for', String(channel.shutUsers)],
          ['family', settings.family],
          ...(settings.region === undefined ? [] : [['region', settings.region] as const]),
          ['priority, weight', `${settings.priority}, ${settings.weight}`],
          ['timeout', formatDuration(settings.timeoutMs)],
          ['models', settings.models.join(', ')],
        ]}
      />
      <p class="note">
        Each process judges a channel by its own calls. A paused channel is tried again after 2 to
        30 seconds, and accepts calls once two in a row succeed.
      </p>
    </Panel>
  )
}

const errorColumns = ({
  clock,
  nowMs,
}: View): readonly TableColumn<ChannelFacts['failures'][number]>[] => [
  { name: 'time', cell: ({ agoMs }) => <Moment atMs={nowMs - agoMs} clock={clock} /> },
  { name: 'kind', narrow: 'lead', cell: ({ kind }) => kind.replaceAll('_', ' ') },
  { name: 'status', right: true, cell: ({ status }) => status ?? '' },
  { name: 'code', cell: ({ code }) => (code === undefined ? '' : <code>{code}</code>) },
  { name: 'model', cell: ({ model }) => model ?? '' },
  { name: 'message', cell: ({ message }) => message },
]

const failedColumns = ({ clock }: View): readonly TableColumn<Failed[number]>[] => [
  { name: 'time', cell: ({ at }) => <Moment atMs={fromTimestamp(at)} clock={clock} /> },
  { name: 'id', narrow: 'lead', cell: ({ id }) => <Id id={id} href={lifeHref(id)} /> },
  { name: 'code', cell: ({ code }) => <code>{code}</code> },
  { name: 'message', cell: ({ message }) => message },
  { name: 'model', cell: ({ model }) => model },
  { name: 'tenant', cell: ({ tenant_id: tenant }) => tenant },
  { name: 'took', right: true, cell: ({ duration_ms: ms }) => formatDuration(ms) },
]

function ChannelPage({ facts, view }: { readonly facts: Shown; readonly view: View }): JSX.Element {
  const { channel, failed } = facts
  return (
    <>
      <h1 class="title">Channel {channel.id}</h1>
      <StatePanel facts={facts} view={view} />
      <Panel id="errors" title="Last failures that this process saw">
        <Table
          label="Last failures of the channel"
          columns={errorColumns(view)}
          rows={channel.failures}
          keyOf={({ agoMs, message }) => `${agoMs} ${message}`}
          empty="No call of this channel has failed since the process started."
        />
      </Panel>
      <FactsPanel
        id="failed"
        title="Requests that failed there, last 24 hours"
        of={failed}
        show={(rows) => (
          <Table
            label="Requests that failed at the channel"
            columns={failedColumns(view)}
            rows={rows}
            keyOf={({ id }) => id}
            empty="No request failed there. A request that another channel answered is not among them."
          />
        )}
      />
      <p class="note">
        <a href={operationsHref()}>All of operations</a>
      </p>
    </>
  )
}

/** A channel, for operators without a role. */
export const channelPage: Page<typeof query, Shown> = {
  path: paths.channel,
  roles: [],
  query,
  showsProcess: true,
  read: async (services, who, { id, token }) => {
    requireOperatorOf(token)
    const { operations } = services
    const channel = operations.channels().find((each) => each.id === id)
    const settings = operations.channel(id)
    if (channel === undefined || settings === undefined)
      throw new RequestError('route_not_found', `There is no channel ${id}`)
    const failed = await panelFacts(who, [], async () => {
      const asked = { time_preset: '24h', channel_id: id, limit: MOST_FAILED } as const
      const list = await readFailures(services, who, asked)
      return (await list.page()).items
    })
    return { channel, settings, failed }
  },
  title: ({ channel }) => `Channel ${channel.id}`,
  show: (facts, view) => <ChannelPage facts={facts} view={view} />,
}
