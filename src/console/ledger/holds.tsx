import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { withFiles } from '../../api/kit/answers/lists.ts'
import { HoldsQuerySchema, readHolds } from '../../api/query/holds.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { formatDuration } from '../../kernel/duration.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { Download, tableFormats } from '../kit/download.tsx'
import { fieldOf, type FilterField } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { apiPath, holdsHref, lifeHref, paths } from '../kit/href.ts'
import { factsOrWords, type PanelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { LedgerTabs } from '../kit/tabs.tsx'
import { grouped, Id, Money, Moment } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'

/** The page of holds: for which running task, how much, and since when. */

type Holds = Awaited<ReturnType<Awaited<ReturnType<typeof readHolds>>['page']>>
type Hold = Holds['items'][number]

const { tenant_id, currency, tz } = HoldsQuerySchema.properties
const query = Type.Object({ tenant_id, currency, tz })
type Query = Static<typeof query>

interface HoldsFacts {
  readonly query: Query
  readonly holds: PanelFacts<Holds>
}

const PART = 'held'
/** More rows are no page for people. */
const MAX_ROWS = 200
const fields: readonly FilterField[] = [fieldOf.tenant, fieldOf.currency]

const columnsIn = ({ clock, nowMs }: View, from: string): readonly TableColumn<Hold>[] => [
  {
    name: 'since',
    cell: ({ placed_at: at }) => <Moment atMs={fromTimestamp(at)} clock={clock} />,
  },
  {
    name: 'for',
    cell: ({ placed_at: at }) => formatDuration(Math.max(0, nowMs - fromTimestamp(at))),
  },
  { name: 'life', narrow: 'lead', cell: ({ source_id: id }) => <Id id={id} href={lifeHref(id)} /> },
  { name: 'tenant', cell: (hold) => hold.tenant_id },
  {
    name: 'held',
    money: ({ amount, currency: of }) => ({ amount, currency: of, from }),
  },
]

function sumsOf(items: readonly Hold[]): readonly (readonly [string, string])[] {
  const sums = new Map<string, bigint>()
  for (const { currency: of, amount } of items)
    sums.set(of, (sums.get(of) ?? 0n) + parseAmount(amount))
  return [...sums].map(([of, pico]) => [of, formatAmount(pico)])
}

function List({
  asked,
  holds: { items, total, as_of: asOf },
  view,
}: {
  readonly asked: Query
  readonly holds: Holds
  readonly view: View
}): JSX.Element {
  const { tenant_id: tenantId, currency: of } = asked
  const from = apiPath('/holds', { tenant_id: tenantId, currency: of })
  return (
    <>
      {items.length === 0 || items.length < total ? null : (
        <ul class="totals" aria-label="Totals">
          {sumsOf(items).map(([one, amount]) => (
            <li key={one}>
              <Money amount={amount} currency={one} /> <span class="note">held for tasks</span>
            </li>
          ))}
        </ul>
      )}
      <Table
        label="Holds"
        columns={columnsIn(view, from)}
        rows={items.slice(0, MAX_ROWS)}
        keyOf={({ source_id: id }) => id}
        empty="Nothing is held for a task now."
      />
      <p class="note">
        {total > MAX_ROWS
          ? `The oldest ${MAX_ROWS} of ${grouped(String(total))} tasks. `
          : 'The oldest first. '}
        What is held for synchronous calls ends with their answers, and is in the balance alone. As
        of position {asOf} of the log.
      </p>
      <Download page={holdsHref()} query={{ tenant_id: tenantId, currency: of }} from={from} />
    </>
  )
}

/** The holds of a tenant, or of all, as they are when the file is made. */
export const holdsFile: PageFile<typeof query, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query,
  read: async (services, who, { query: asked }) => ({
    list: withFiles(await readHolds(services, who, asked), true),
    tenantIds: [asked.tenant_id],
  }),
}

/** Holds of a tenant, or of all. */
export const holdsPage: Page<typeof query, HoldsFacts> = {
  path: paths.holds,
  roles: ['finance'],
  query,
  read: async (services, who, { query: asked }) => ({
    query: asked,
    holds: await factsOrWords(async () => (await readHolds(services, who, asked)).page()),
  }),
  tenantsOf: ({ query: { tenant_id: tenantId } }) => [tenantId],
  filter: () => ({ title: 'Ledger', action: holdsHref(), part: PART, fields }),
  title: () => 'Held',
  show: ({ query: asked, holds }, view) => (
    <>
      <h1 class="title">Ledger</h1>
      <LedgerTabs at={paths.holds} token={view.token} asked={asked} />
      <FilterForm action={holdsHref()} part={PART} fields={fields} values={asked} />
      <div class="panel" id={PART} aria-live="polite">
        {'why' in holds ? (
          <p class="note">{holds.why}</p>
        ) : (
          <List asked={asked} holds={holds.facts} view={view} />
        )}
      </div>
    </>
  ),
}
