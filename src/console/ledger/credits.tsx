import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { withFiles } from '../../api/kit/answers/lists.ts'
import {
  GrantsQuerySchema,
  readAdjustments,
  readCreditSums,
  readGrants,
} from '../../api/query/credits.ts'
import type { QueryServices } from '../../api/query/services.ts'
import { readTimeRange, type TimeRange } from '../../api/query/time-range.ts'
import type { Principal } from '../../app/access/principal.ts'
import { isOperator } from '../../domain/token/events.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { Download, tableFormats } from '../kit/download.tsx'
import { fieldOf, timeFields, type FilterField } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { apiPath, creditsHref, findHref, lineHref, paths, proposalHref } from '../kit/href.ts'
import { FactsPanel, factsOrWords, type PanelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { LedgerTabs } from '../kit/tabs.tsx'
import { boundedOf, pageOf, Pager, withTime } from '../kit/time-pages.tsx'
import { grouped, Id, Moment } from '../kit/values.tsx'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'

/** Refunds, corrections and grants of all tenants or one, each with its reason and its persons, and sums by code. */

type Sums = Awaited<ReturnType<Awaited<ReturnType<typeof readCreditSums>>['page']>>
type Grant = Awaited<ReturnType<Awaited<ReturnType<typeof readGrants>>['page']>>['items'][number]
type Adjustment = Awaited<
  ReturnType<Awaited<ReturnType<typeof readAdjustments>>['page']>
>['items'][number]

const { tz, from, to, time_preset, tenant_id, currency, as_of, cursor } =
  GrantsQuerySchema.properties
const kinds = ['refunds', 'credit'] as const
const query = Type.Object({
  tz,
  from,
  to,
  time_preset,
  tenant_id,
  currency,
  cursor,
  kind: Type.Optional(Type.Enum([...kinds])),
})
type Query = Static<typeof query>

/** A posting of either kind, as the table shows it. */
interface Row {
  readonly id: string
  readonly atMs: number
  readonly tenantId: string
  readonly amount: string
  readonly currency: string
  /** The code of an adjustment, or the kind of credit. */
  readonly code: string
  readonly reason: string
  readonly reference: string | null
  readonly lineId: string | null
  readonly postedBy: string | null
  readonly proposedBy: string | null
  readonly proposalId: string | null
}

interface CreditsFacts {
  readonly query: Query
  readonly sums: PanelFacts<Sums>
  readonly list: PanelFacts<{
    readonly rows: readonly Row[]
    readonly next: string | null
    readonly asOf: string
    readonly range: TimeRange
  }>
}

const PART = 'credits'
const fields: readonly FilterField[] = [
  { name: 'kind', label: 'Show', options: kinds, noChoice: null },
  ...timeFields('ledger'),
  fieldOf.tenant,
  fieldOf.currency,
]

const rowOf = (one: Grant | Adjustment): Row => ({
  id: 'line_id' in one ? one.adjustment_id : one.grant_id,
  atMs: fromTimestamp(one.posted_at),
  tenantId: one.tenant_id,
  amount: one.amount,
  currency: one.currency,
  code: 'line_id' in one ? (one.code?.replace('_', ' ') ?? 'none') : one.credit,
  reason: one.reason,
  reference: 'line_id' in one ? null : one.reference,
  lineId: 'line_id' in one ? one.line_id : null,
  postedBy: one.actor_user_id ?? one.actor,
  proposedBy: one.proposed_by_user_id,
  proposalId: one.proposal_id,
})

async function read(services: QueryServices, who: Principal, asked: Query): Promise<CreditsFacts> {
  const shown = { kind: 'refunds' as const, ...withTime(asked, '30d') }
  const { kind, ...listed } = shown
  const { cursor: _cursor, ...summed } = listed
  const nowMs = services.clock.nowMs()
  const [sums, list] = await Promise.all([
    factsOrWords(async () => (await readCreditSums(services, who, summed)).page()),
    factsOrWords(async () => {
      const page = pageOf(listed, nowMs)
      const {
        items,
        next_cursor: next,
        as_of: asOf,
      } = kind === 'credit'
        ? await (await readGrants(services, who, page)).page()
        : await (await readAdjustments(services, who, page)).page()
      return { rows: items.map(rowOf), next, asOf, range: readTimeRange(listed, nowMs) }
    }),
  ])
  return { query: shown, sums, list }
}

const sumColumns = (from: string): readonly TableColumn<Sums['items'][number]>[] => [
  { name: 'kind', cell: ({ kind }) => (kind === 'grant' ? 'credit' : 'refunds') },
  { name: 'code', narrow: 'lead', cell: ({ code }) => code?.replace('_', ' ') ?? 'none' },
  { name: 'postings', right: true, cell: ({ postings }) => grouped(String(postings)) },
  {
    name: 'sum',
    money: ({ amount, currency: of }) => ({ amount, currency: of, from }),
  },
]

function columnsIn(
  { kind }: Query,
  { clock, token }: View,
  from: string,
): readonly TableColumn<Row>[] {
  return [
    { name: 'posted', cell: ({ atMs }) => <Moment atMs={atMs} clock={clock} /> },
    { name: 'tenant', cell: ({ tenantId }) => tenantId },
    kind === 'credit'
      ? {
          name: 'grant',
          narrow: 'lead',
          cell: ({ id }) => <Id id={id} href={findHref({ q: id })} />,
        }
      : {
          name: 'line',
          narrow: 'lead',
          cell: ({ lineId, id }) =>
            lineId === null ? <Id id={id} /> : <Id id={lineId} href={lineHref(lineId)} />,
        },
    { name: kind === 'credit' ? 'credit' : 'code', cell: ({ code }) => code },
    {
      name: 'reason',
      cell: ({ reason, reference }) =>
        reference === null ? reason : `${reason}, reference ${reference}`,
    },
    // The API names persons to operators alone.
    ...(isOperator(token) || token.scope?.level === 'all_tenants'
      ? [
          { name: 'proposed by', cell: ({ proposedBy }: Row) => proposedBy ?? '' },
          {
            name: 'posted by',
            cell: ({ tenantId, proposalId, postedBy }: Row) =>
              proposalId !== null && token.kind === 'admin' ? (
                <a href={proposalHref({ tenantId, proposalId })}>{postedBy ?? 'proposal'}</a>
              ) : (
                (postedBy ?? '')
              ),
          },
        ]
      : []),
    {
      name: 'amount',
      money: ({ amount, currency: of }) => ({ amount, currency: of, from }),
    },
  ]
}

function CreditsPage({
  facts,
  view,
}: {
  readonly facts: CreditsFacts
  readonly view: View
}): JSX.Element {
  const { query: asked, sums, list } = facts
  const { kind, ...listed } = asked
  const { cursor: _cursor, ...summed } = listed
  const isOfCredit = kind === 'credit'
  const path = isOfCredit ? '/grants' : '/adjustments'
  return (
    <>
      <h1 class="title">Ledger</h1>
      <LedgerTabs at={paths.credits} token={view.token} asked={asked} />
      <FilterForm action={creditsHref()} part={PART} fields={fields} values={asked} />
      <div id={PART} aria-live="polite">
        <FactsPanel
          id="sums"
          title="Sums by code"
          of={sums}
          show={({ items }) => (
            <Table
              label="Sums by code"
              columns={sumColumns(apiPath('/credits', summed))}
              rows={items}
              keyOf={(one) => `${one.kind} ${one.code} ${one.currency}`}
              empty="Nothing was given in this time. Choose a longer time, or clear a filter."
            />
          )}
        />
        <FactsPanel
          id="postings"
          title={isOfCredit ? 'Credit that was given' : 'Refunds and corrections'}
          of={list}
          show={({ rows, next, asOf, range }) => (
            <>
              <Table
                label={isOfCredit ? 'Credit' : 'Refunds'}
                columns={columnsIn(asked, view, apiPath(path, boundedOf(listed, range)))}
                rows={rows}
                keyOf={({ tenantId, id }) => `${tenantId} ${id}`}
                empty="None in this time. Choose a longer time, or clear a filter."
              />
              <Pager href={creditsHref} query={asked} range={range} next={next} />
              <Download
                page={creditsHref()}
                query={{ ...boundedOf(listed, range), kind }}
                asOf={asOf}
                from={apiPath(path, { ...boundedOf(listed, range), as_of: asOf })}
              />
            </>
          )}
        />
      </div>
    </>
  )
}

const { cursor: _cursor, ...filtered } = query.properties
const fileQuery = Type.Object({ ...filtered, as_of })

/** All refunds, or all credit, of a filter. */
export const creditsFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: async (services, who, { query: { kind, ...asked } }) => {
    const dated = withTime(asked, '30d')
    const list =
      kind === 'credit'
        ? withFiles(await readGrants(services, who, dated), true)
        : withFiles(await readAdjustments(services, who, dated), true)
    return { list, tenantIds: [asked.tenant_id] }
  },
}

/** Refunds of the last 30 days, unless another time or credit is asked for. */
export const creditsPage: Page<typeof query, CreditsFacts> = {
  path: paths.credits,
  roles: ['finance'],
  query,
  read: (services, who, { query: asked }) => read(services, who, asked),
  tenantsOf: ({ query: { tenant_id: tenantId } }) => [tenantId],
  filter: () => ({ title: 'Ledger', action: creditsHref(), part: PART, fields }),
  title: () => 'Credits',
  show: (facts, view) => <CreditsPage facts={facts} view={view} />,
}
