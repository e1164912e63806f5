import type { JSX } from 'preact'
import { MAX_UNCLEAR, type OperationsReads } from '../../api/operating/operations.ts'
import { lifeHref } from '../kit/href.ts'
import { FactsPanel, type PanelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Command, grouped, Id, Moment, type ZoneClock } from '../kit/values.tsx'

/** Tasks whose outcome or usage a provider has not said, each with the page of its life. */

type Unclear = Awaited<ReturnType<OperationsReads['uncertain']>>

export interface UnclearFacts {
  readonly uncertain: PanelFacts<Unclear>
  readonly withoutUsage: PanelFacts<Awaited<ReturnType<OperationsReads['withoutUsage']>>>
}

const unclearColumns = (clock: ZoneClock): readonly TableColumn<Unclear[number]>[] => [
  { name: 'requested', cell: (task) => <Moment atMs={task.requestedAtMs} clock={clock} /> },
  {
    name: 'life',
    narrow: 'lead',
    cell: ({ platformId: id }) => <Id id={id} href={lifeHref(id)} />,
  },
  { name: 'model', cell: ({ model }) => model },
  { name: 'tenant', cell: ({ tenantId }) => tenantId },
  { name: 'channel', cell: ({ channelId }) => channelId },
  { name: 'expires', cell: (task) => <Moment atMs={task.expiresAtMs} clock={clock} /> },
]

export function UnclearPanels({
  facts: { uncertain, withoutUsage },
  clock,
}: {
  readonly facts: UnclearFacts
  readonly clock: ZoneClock
}): JSX.Element {
  const list = (label: string, rows: Unclear, empty: string) => (
    <Table
      label={label}
      columns={unclearColumns(clock)}
      rows={rows.slice(0, MAX_UNCLEAR)}
      keyOf={({ platformId }) => platformId}
      empty={empty}
    />
  )
  return (
    <>
      <FactsPanel
        id="uncertain"
        title="Submissions without a known outcome"
        of={uncertain}
        show={(rows) => (
          <>
            {list('Uncertain submissions', rows, 'The outcome of every submission is known.')}
            {rows.length > MAX_UNCLEAR ? <p class="note">There are more than 50.</p> : null}
            <p class="note">
              The gateway looks for each at its provider until it expires.{' '}
              <Command>tollgate poll ID</Command> asks now; <Command>tollgate give-up ID</Command>{' '}
              ends one and frees its hold.
            </p>
          </>
        )}
      />
      <FactsPanel
        id="usage"
        title="Made, and usage not known"
        of={withoutUsage}
        show={({ open, tasks }) => (
          <>
            {list('Tasks without usage', tasks, 'Every result that was made has its usage.')}
            {open > tasks.length ? <p class="note">There are {grouped(String(open))}.</p> : null}
            <p class="note">
              Each is asked for until it expires, and is then not charged:{' '}
              <Command>tollgate poll ID</Command> asks now.
            </p>
          </>
        )}
      />
    </>
  )
}
