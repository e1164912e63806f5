import type { JSX } from 'preact'
import { MAX_UNCLEAR, type OperationsReads } from '../../api/operating/operations.ts'
import { lifeHref } from '../kit/href.ts'
import { FactsPanel, type PanelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { grouped, Id, Moment, type ZoneClock } from '../kit/values.tsx'

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
            {rows.length > MAX_UNCLEAR ? (
              <p class="note">The first {MAX_UNCLEAR} are shown; there are more.</p>
            ) : null}
            <p class="note">
              The gateway looks for each task at its provider until the task expires. The page of
              its life has the forms that ask the provider now, and that give up: that ends the task
              and releases its hold.
            </p>
          </>
        )}
      />
      <FactsPanel
        id="usage"
        title="Completed, usage missing"
        of={withoutUsage}
        show={({ open, tasks }) => (
          <>
            {list('Tasks without usage', tasks, 'Every completed task has its usage.')}
            {open > tasks.length ? (
              <p class="note">
                The first {tasks.length} of {grouped(String(open))} are shown.
              </p>
            ) : null}
            <p class="note">
              The gateway asks for the usage of each task until the task expires, which is then not
              charged. The page of its life has the form that asks now.
            </p>
          </>
        )}
      />
    </>
  )
}
