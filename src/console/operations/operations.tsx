import type { JSX } from 'preact'
import { Type } from 'typebox'
import type { OperationsReads } from '../../api/operating/operations.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import { formatDuration } from '../../kernel/duration.ts'
import { channelHref, paths } from '../kit/href.ts'
import { FactsPanel, Panel, type PanelFacts, panelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Command, Facts, grouped, Id, Moment } from '../kit/values.tsx'
import { type AttentionFacts, AttentionPanel } from './attention.tsx'
import { type ChannelFacts, channelState } from './channel-words.ts'
import { requireOperatorOf } from './operator.ts'
import { type UnclearFacts, UnclearPanels } from './unclear.tsx'
import type { Page, View } from '../page.tsx'

/** The state of the gateway for operators: what needs a decision, and the command that makes it. */

type Read<Name extends keyof OperationsReads> = Awaited<ReturnType<OperationsReads[Name]>>
type Readiness = Read<'readiness'>

interface OperationsFacts extends UnclearFacts, AttentionFacts {
  readonly uncertain: UnclearFacts['uncertain']
  readonly work: PanelFacts<Read<'work'>>
}

const query = Type.Object({ tz: timeRangeMembers.tz })

function ProcessPanel({ readiness }: { readonly readiness: Readiness }): JSX.Element {
  const { ready, dependencies, spool } = readiness
  const waits = spool === undefined ? 'none' : `${grouped(String(spool.records))} records waiting`
  const since = spool === undefined || spool.records === 0 ? '' : `, ${formatDuration(spool.ageMs)}`
  return (
    <Panel id="process" title="This process">
      <Facts
        facts={[
          ['accepts requests', ready ? 'yes' : 'no'],
          ...Object.entries(dependencies).map(
            ([name, state]) => [name.replaceAll('_', ' '), state] as const,
          ),
          ['spool', `${waits}${since}`],
        ]}
      />
      <p class="note">
        <code>/readyz</code> reports the same, without a token.{' '}
        <Command>tollgate spool list</Command> shows the spool of the replica whose{' '}
        <code>DATA_DIR</code> it has.
      </p>
    </Panel>
  )
}

const modelColumns: readonly TableColumn<Readiness['projections'][number]>[] = [
  { name: 'read model', narrow: 'lead', cell: ({ name }) => name },
  { name: 'position', right: true, cell: ({ position }) => grouped(position ?? '') },
  {
    name: 'lag',
    right: true,
    cell: ({ lagMs }) => (lagMs === 0 ? 'none' : formatDuration(lagMs)),
  },
  {
    name: 'state',
    cell: ({ name, stopped, rebuilding }) =>
      stopped === undefined ? (
        rebuilding ? (
          'rebuilding: an older version is read until then'
        ) : (
          'follows the log'
        )
      ) : (
        <>
          stopped: {stopped}. To check it: <Command>tollgate rebuild {name} --check</Command>
        </>
      ),
  },
]

const workerColumns: readonly TableColumn<Read<'workers'>[number]>[] = [
  { name: 'process', narrow: 'lead', cell: ({ owner }) => <Id id={owner} /> },
  { name: 'last seen', right: true, cell: ({ silentMs }) => `${formatDuration(silentMs)} ago` },
]

const channelColumns = ({ clock, nowMs }: View): readonly TableColumn<ChannelFacts>[] => [
  {
    name: 'channel',
    narrow: 'lead',
    cell: ({ id }) => <a href={channelHref(id)}>{id}</a>,
  },
  {
    name: 'state',
    cell: (channel) => {
      const { words, tone } = channelState(channel)
      return <span class={`state ${tone}`}>{words}</span>
    },
  },
  {
    name: 'fails since',
    cell: ({ failingForMs: forMs }) =>
      forMs === undefined ? '' : <Moment atMs={nowMs - forMs} clock={clock} short />,
  },
  { name: 'calls now', right: true, cell: ({ callsInFlight }) => callsInFlight },
  { name: 'last failure', cell: ({ failures: [last] }) => last?.message ?? '' },
]

const workWords: Readonly<Record<string, string>> = {
  poll: 'tasks to ask providers for',
  reconcile: 'submissions to look for at providers',
  watch: 'tasks that a provider may show late',
  make: 'tasks waiting for a worker',
  finish: 'tasks being made by a worker',
}

const workColumns: readonly TableColumn<Read<'work'>[number]>[] = [
  { name: 'work', narrow: 'lead', cell: ({ kind }) => workWords[kind] ?? kind },
  { name: 'open', right: true, cell: ({ open }) => grouped(String(open)) },
  { name: 'due now', right: true, cell: ({ due }) => grouped(String(due)) },
]

function LedgerPanels({ facts: { spools, audit } }: { readonly facts: OperationsFacts }) {
  return (
    <>
      <FactsPanel
        id="silent"
        title="Spools of stopped processes"
        of={spools}
        show={(rows) =>
          rows.length === 0 ? (
            <p class="empty">No settlement is waiting in the spool of a stopped process.</p>
          ) : (
            rows.map(({ currency, spools: count, amount, oldestSeconds }) => (
              <p key={currency} class="note">
                {count === 1 ? '1 spool holds' : `${count} spools hold`} {grouped(amount)}{' '}
                {currency}, the oldest for {formatDuration(oldestSeconds * 1_000)}. Start a process
                with that <code>DATA_DIR</code>: it appends the settlements to the log.
              </p>
            ))
          )
        }
      />
      <FactsPanel
        id="audit"
        title="Last audit"
        of={audit}
        show={({ last }) => (
          <p class="note">
            {last === undefined
              ? 'No audit has finished yet. '
              : `The last audit finished ${formatDuration(last.ageSeconds * 1_000)} ago and found ${
                  last.findings === 0 ? 'no difference' : `${last.findings} differences`
                }. `}
            <Command>tollgate audit</Command> compares every read model with the log.
          </p>
        )}
      />
    </>
  )
}

function OperationsPage({
  facts,
  view,
}: {
  readonly facts: OperationsFacts
  readonly view: View
}): JSX.Element {
  const { readiness, channels } = facts
  return (
    <>
      <h1 class="title">Operations</h1>
      <AttentionPanel facts={facts} view={view} />
      <ProcessPanel readiness={readiness} />
      <UnclearPanels facts={facts} clock={view.clock} />
      <Panel id="channels" title="Channels of this process">
        <Table
          label="Channels"
          columns={channelColumns(view)}
          rows={channels}
          keyOf={({ id }) => id}
          empty="No channel is configured."
        />
      </Panel>
      <Panel id="read-models" title="Read models">
        <Table
          label="Lag of read models"
          columns={modelColumns}
          rows={readiness.projections}
          keyOf={({ name }) => name}
          empty="The state of the read models could not be read in time."
        />
      </Panel>
      <WorkPanels facts={facts} />
      <LedgerPanels facts={facts} />
    </>
  )
}

function WorkPanels({ facts }: { readonly facts: OperationsFacts }): JSX.Element {
  const { work, workers } = facts
  return (
    <>
      <FactsPanel
        id="work"
        title="Background work"
        of={work}
        show={(rows) => (
          <Table
            label="Kinds of work"
            columns={workColumns}
            rows={rows}
            keyOf={({ kind }) => kind}
            empty="No task is open."
          />
        )}
      />
      <FactsPanel
        id="workers"
        title="Workers"
        of={workers}
        show={(rows) => (
          <Table
            label="Worker processes"
            columns={workerColumns}
            rows={rows}
            keyOf={({ owner }) => owner}
            empty="No worker is running: providers are not asked for tasks."
          />
        )}
      />
    </>
  )
}

/** The state of the gateway, for operators without a role. */
export const operationsPage: Page<typeof query, OperationsFacts> = {
  path: paths.operations,
  roles: [],
  query,
  showsProcess: true,
  read: async ({ operations, clock }, who, { token }) => {
    requireOperatorOf(token)
    const panel = <Found,>(read: () => Promise<Found>) => panelFacts(who, [], read)
    const [readiness, workers, work, uncertain, withoutUsage, spools, audit] = await Promise.all([
      operations.readiness(),
      panel(operations.workers),
      panel(() => operations.work(clock.nowMs())),
      panel(operations.uncertain),
      panel(operations.withoutUsage),
      panel(operations.silentSpools),
      panel(async () => ({ last: await operations.lastAudit() })),
    ])
    const channels = operations.channels()
    return { readiness, channels, workers, work, uncertain, withoutUsage, spools, audit }
  },
  title: () => 'Operations',
  show: (facts, view) => <OperationsPage facts={facts} view={view} />,
}
