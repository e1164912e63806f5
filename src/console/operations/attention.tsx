import type { ComponentChildren, JSX } from 'preact'
import type { OperationsReads } from '../../api/operating/operations.ts'
import { formatDuration } from '../../kernel/duration.ts'
import { channelHref, lifeHref, pricesHref } from '../kit/href.ts'
import { Panel, type PanelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Command, grouped, Moment } from '../kit/values.tsx'
import type { View } from '../page.tsx'
import { channelState, type Channels } from './channel-words.ts'

/** What needs an operator, the worst first: each with since when, the last error, and what helps. */

type Read<Name extends keyof OperationsReads> = Awaited<ReturnType<OperationsReads[Name]>>

/** The facts that something may need an operator by. */
export interface AttentionFacts {
  readonly readiness: Read<'readiness'>
  readonly channels: Channels
  readonly workers: PanelFacts<Read<'workers'>>
  readonly uncertain: PanelFacts<Read<'uncertain'>>
  readonly spools: PanelFacts<Read<'silentSpools'>>
  readonly audit: PanelFacts<{ readonly last: Read<'lastAudit'> }>
}

interface Item {
  readonly key: string
  readonly isBad: boolean
  readonly words: ComponentChildren
  /** Undefined: the time is not known. */
  readonly forMs: number | undefined
  readonly lastError?: string | undefined
  readonly help: ComponentChildren
}

const ofModels = (words: string): JSX.Element => {
  const name = words.split(' ')[2] ?? ''
  return (
    <>
      <a href="#read-models">Read models</a> has the position of each.{' '}
      <Command>tollgate rebuild {name.replace(/:$/, '')} --check</Command> compares one with the
      log.
    </>
  )
}

/** What helps, by how the words of readiness begin. */
const help: readonly (readonly [begin: string, of: (words: string) => ComponentChildren])[] = [
  [
    'postgres is down',
    () => (
      <>
        Start Postgres, or check <code>DATABASE_URL</code> and the way there. Read models catch up
        by themselves.
      </>
    ),
  ],
  [
    'event_log',
    () => (
      <>
        Start the event store, or check <code>EVENTSTORE_URL</code> and the way there. Settlements
        wait in the spool meanwhile.
      </>
    ),
  ],
  ['spool:', () => <Command>tollgate spool list</Command>],
  [
    'the spool',
    () => (
      <>
        Make room where <code>DATA_DIR</code> is, and let the event store answer.
      </>
    ),
  ],
  ['not accepting', () => 'The process starts or stops. If it stays so, read its log.'],
  ['channels:', () => <a href="#channels">Channels of this process</a>],
  ['prices:', () => <a href={pricesHref()}>Prices</a>],
  ['read models:', ofModels],
  ['disk:', () => 'Make room on that disk.'],
  ['clock:', () => 'Check that the machine keeps its time by NTP.'],
  ['objects:', () => 'Check that the object store answers, and its credential.'],
]

function helpFor(words: string): ComponentChildren {
  return (
    help.find(([begin]) => words.startsWith(begin))?.[1](words) ?? 'Read the log of the process.'
  )
}

const found = <Facts,>(of: PanelFacts<Facts>): Facts | undefined =>
  'why' in of ? undefined : of.facts

function ofReadiness({ readiness }: AttentionFacts): readonly Item[] {
  return readiness.problems.map(({ words, isReason, forMs, lastError }) => ({
    key: words,
    isBad: isReason,
    words,
    forMs,
    lastError,
    help: helpFor(words),
  }))
}

function ofChannels({ channels }: AttentionFacts): readonly Item[] {
  return channels
    .filter(({ breaker, shutUsers }) => breaker !== 'closed' || shutUsers > 0)
    .map((channel) => ({
      key: `channel ${channel.id}`,
      isBad: channel.breaker !== 'closed',
      words: `Channel ${channel.id}: ${channelState(channel).words}`,
      forMs: channel.failingForMs,
      lastError: channel.failures[0]?.message,
      help: <a href={channelHref(channel.id)}>Its last failures</a>,
    }))
}

function ofWork({ workers, uncertain, spools, audit }: AttentionFacts): readonly Item[] {
  const [unclear] = found(uncertain) ?? []
  const differences = found(audit)?.last
  return [
    ...(found(workers)?.length === 0
      ? [
          {
            key: 'workers',
            isBad: true,
            words: 'No worker is running: providers are not asked for tasks',
            forMs: undefined,
            help: (
              <>
                Start a process with the role <code>worker</code>.
              </>
            ),
          },
        ]
      : []),
    ...(found(spools) ?? []).map(({ currency, amount, oldestSeconds }) => ({
      key: `spool ${currency}`,
      isBad: true,
      words: `${grouped(amount)} ${currency} wait in the spool of a stopped process`,
      forMs: oldestSeconds * 1_000,
      help: <a href="#silent">Spools of stopped processes</a>,
    })),
    ...(differences !== undefined && differences.findings > 0
      ? [
          {
            key: 'audit',
            isBad: true,
            words: `The last audit found ${differences.findings} differences`,
            forMs: differences.ageSeconds * 1_000,
            help: <Command>tollgate audit</Command>,
          },
        ]
      : []),
    ...(unclear === undefined
      ? []
      : [
          {
            key: 'uncertain',
            isBad: false,
            words: 'Submissions have no known outcome',
            forMs: undefined,
            help: (
              <>
                <a href={lifeHref(unclear.platformId)}>Ask the provider about the first</a>, or{' '}
                <a href="#uncertain">see all</a>
              </>
            ),
          },
        ]),
  ]
}

const columnsAt = ({ clock, nowMs }: View): readonly TableColumn<Item>[] => [
  {
    name: 'what',
    narrow: 'lead',
    cell: ({ words, isBad }) => (
      <>
        <span class={isBad ? 'state bad' : 'state look'}>{isBad ? 'Wrong' : 'Look'}</span> {words}
      </>
    ),
  },
  {
    name: 'since',
    cell: ({ forMs }) =>
      forMs === undefined ? (
        'not known'
      ) : (
        <>
          <Moment atMs={nowMs - forMs} clock={clock} />, for {formatDuration(Math.round(forMs))}
        </>
      ),
  },
  { name: 'last error', cell: ({ lastError }) => lastError ?? '' },
  { name: 'what helps', cell: (item) => item.help },
]

/** The first panel of operations. */
export function AttentionPanel({
  facts,
  view,
}: {
  readonly facts: AttentionFacts
  readonly view: View
}): JSX.Element {
  const items = [...ofReadiness(facts), ...ofChannels(facts), ...ofWork(facts)]
  const sorted = [...items.filter(({ isBad }) => isBad), ...items.filter(({ isBad }) => !isBad)]
  return (
    <Panel id="attention" title="What needs you">
      <Table
        label="What needs you"
        columns={columnsAt(view)}
        rows={sorted}
        keyOf={({ key }) => key}
        empty={<span class="state good">Nothing is wrong.</span>}
      />
    </Panel>
  )
}
