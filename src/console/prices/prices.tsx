import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { readBooks } from '../../api/admin/prices/books.ts'
import { readSkuPrices, SkuPricesQuerySchema } from '../../api/admin/prices/skus.ts'
import { listAccountPrices, readAccountPrices } from '../../api/admin/prices/tenants.ts'
import { withFiles } from '../../api/kit/answers/lists.ts'
import { cursorMembers } from '../../api/kit/routes/queries.ts'
import { readZone, timeRangeMembers } from '../../api/query/time-range.ts'
import { NameOf } from '../../api/query/schemas.ts'
import type { Principal } from '../../app/access/principal.ts'
import { isOperator } from '../../domain/token/events.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { Download, tableFormats } from '../kit/download.tsx'
import { fieldOf, type FilterField } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { adminPath, bookHref, paths, pricesHref } from '../kit/href.ts'
import { FactsPanel, type PanelFacts, factsOrWords, panelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { LedgerTabs } from '../kit/tabs.tsx'
import { Pager } from '../kit/time-pages.tsx'
import { Facts, grouped, Moment, type ZoneClock, State } from '../kit/values.tsx'
import { FirstRows, PriceOf } from '../kit/prices.tsx'
import { percentWords } from './panels.tsx'
import { SkuPanel, type SkuPrices } from './sku.tsx'
import type { ConsoleServices, Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
import { adminScopeOfSession } from '../session/reading-as.ts'

/** Price books, and the prices that were agreed with a tenant. */

type Books = Awaited<ReturnType<ReturnType<typeof readBooks>['page']>>
type Book = Books['items'][number]
type TenantPrices = Awaited<ReturnType<typeof readAccountPrices>>
type TenantPrice = TenantPrices['prices'][number]
type PerUnits = TenantPrice['list']

const query = Type.Object({
  tz: timeRangeMembers.tz,
  tenant_id: NameOf('Whose own prices are shown.'),
  sku: NameOf('Whose list prices are shown over time.'),
  at: SkuPricesQuerySchema.properties.at,
  all: Type.Optional(Type.Enum(['true', 'false'])),
  cursor: cursorMembers.cursor,
})
type Query = Static<typeof query>

interface PricesFacts {
  readonly query: Query
  /** Undefined unless a SKU was asked for. */
  readonly sku: PanelFacts<SkuPrices> | undefined
  readonly books: PanelFacts<Books>
  /** Undefined where the reader manages all tenants and named none. */
  readonly tenant: { readonly id: string; readonly prices: PanelFacts<TenantPrices> } | undefined
}

const PART = 'prices'

const fields: readonly FilterField[] = [
  { name: 'sku', label: 'Prices of SKU', placeholder: 'text-basic-output-token' },
  { name: 'at', label: 'On', type: 'date' },
  { ...fieldOf.tenant, label: 'Prices of tenant' },
]

async function read(
  { accounts }: ConsoleServices,
  token: Principal,
  asked: Query,
): Promise<PricesFacts> {
  const scope = adminScopeOfSession(token, 'Prices')
  readZone(asked.tz)
  const { cursor } = asked
  const page = { limit: 50, ...(cursor === undefined ? {} : { cursor }) }
  const readList = async () => readBooks(accounts.priceBooks, scope, page).page()
  const id = asked.tenant_id ?? (isOperator(token) ? undefined : token.tenantId)
  const { sku: named, at } = asked
  const [sku, books, tenant] = await Promise.all([
    named === undefined
      ? undefined
      : panelFacts(token, ['finance'], async () =>
          (
            await readSkuPrices(accounts.priceBooks, scope, { sku: named, ...(at && { at }) })
          ).page(),
        ),
    // An operator asked for a page of the list; an administrator of a tenant has none.
    isOperator(token) ? factsOrWords(readList) : panelFacts(token, ['finance'], readList),
    id === undefined
      ? undefined
      : factsOrWords(() => readAccountPrices(accounts, scope, id, asked.all === 'true')).then(
          (prices) => ({ id, prices }),
        ),
  ])
  return { query: asked, sku, books, tenant }
}

const states: Readonly<Record<Book['state'], string>> = {
  in_effect: 'in effect',
  upcoming: 'upcoming',
  replaced: 'replaced',
}

const bookColumns = (clock: ZoneClock, tz: string | undefined): readonly TableColumn<Book>[] => [
  {
    name: 'version',
    narrow: 'lead',
    cell: ({ version }) => <a href={bookHref(version, { tz })}>{version}</a>,
  },
  { name: 'state', cell: ({ state }) => <State word={states[state]} /> },
  {
    name: 'takes effect',
    cell: ({ effective_from: at }) => <Moment atMs={fromTimestamp(at)} clock={clock} />,
  },
  {
    name: 'published',
    cell: ({ published_at: at }) => <Moment atMs={fromTimestamp(at)} clock={clock} />,
  },
  { name: 'published by', cell: ({ published_by: by }) => by ?? '' },
  { name: 'prices', right: true, cell: (book) => grouped(String(book.price_count)) },
]

function Price({
  of,
  none,
  ...price
}: {
  readonly of: PerUnits
  readonly currency: string
  readonly from: string
  readonly none: string
}): JSX.Element {
  return of === null ? <>{none}</> : <PriceOf of={{ ...of, ...price }} from={price.from} />
}

const priceColumns = (
  from: string,
  multiplier: string | null,
): readonly TableColumn<TenantPrice>[] => [
  { name: 'SKU', narrow: 'lead', cell: ({ sku }) => sku },
  {
    name: 'source',
    cell: ({ own }) => (own ? 'own price' : multiplier === null ? 'list' : `list × ${multiplier}`),
  },
  {
    name: 'list price',
    right: true,
    cell: ({ list, currency }) => <Price of={list} currency={currency} from={from} none="none" />,
  },
  {
    name: 'price of the tenant',
    right: true,
    cell: ({ tenant, currency }) => (
      <Price of={tenant} currency={currency} from={from} none="too large" />
    ),
  },
  { name: 'change', right: true, cell: ({ percent }) => percentWords(percent) },
]

function TenantPanel({
  tenant: { id, prices: of },
  asked,
}: {
  readonly tenant: NonNullable<PricesFacts['tenant']>
  readonly asked: Query
}): JSX.Element {
  const { all, tz } = asked
  const from = adminPath(`/tenants/${encodeURIComponent(id)}/prices`, { all })
  return (
    <FactsPanel
      id="tenant-prices"
      title={all === 'true' ? `All prices of ${id}` : `Own prices of ${id}`}
      of={of}
      show={({ revision, multiplier, prices, price_book_version: version }) => (
        <>
          <Facts
            facts={[
              ['price book', version ?? 'none in effect'],
              ['multiplier', multiplier ?? 'none'],
              ['revision', revision === 0 ? 'not set' : String(revision)],
            ]}
          />
          <FirstRows
            from={from}
            label={`Prices of ${id}`}
            columns={priceColumns(from, multiplier)}
            rows={prices}
            keyOf={({ sku, currency }) => `${sku} ${currency}`}
            empty={
              multiplier === null
                ? 'The tenant pays list prices.'
                : `The tenant pays list prices times ${multiplier}.`
            }
          />
          {all === 'true' ? null : (
            <p class="note">
              <a href={pricesHref({ tenant_id: id, tz, all: 'true' })}>Show all prices</a>
            </p>
          )}
          <Download page={pricesHref()} query={{ tenant_id: id, all }} from={from} token="admin" />
        </>
      )}
    />
  )
}

function PricesPage({ facts, view }: { readonly facts: PricesFacts; readonly view: View }) {
  const { sku, books, tenant, query: asked } = facts
  return (
    <>
      <h1 class="title">Prices</h1>
      <LedgerTabs at={paths.prices} token={view.token} asked={asked} />
      <FilterForm action={pricesHref()} part={PART} fields={fields} values={asked} />
      <div id={PART} aria-live="polite">
        {sku === undefined || asked.sku === undefined ? null : (
          <SkuPanel of={sku} sku={asked.sku} at={asked.at} clock={view.clock} />
        )}
        {tenant === undefined ? null : <TenantPanel tenant={tenant} asked={asked} />}
        <FactsPanel
          id="books"
          title="Price books"
          of={books}
          show={({ items, next_cursor: next }) => (
            <>
              <Table
                label="All price books"
                columns={bookColumns(view.clock, asked.tz)}
                rows={items}
                keyOf={({ version }) => version}
                empty="No price book is published yet. To publish one: tollgate prices publish FILE."
              />
              <Pager href={pricesHref} query={asked} next={next} />
              <Download
                page={pricesHref()}
                query={{}}
                from={adminPath('/price-books')}
                token="admin"
              />
            </>
          )}
        />
      </div>
    </>
  )
}

const { sku, at, tenant_id, all } = query.properties
const fileQuery = Type.Object({ sku, at, tenant_id, all })

/** The prices of a SKU over time, or those of a tenant, or else all price books. */
export const pricesFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: async ({ accounts }, _who, { token, query: asked }) => {
    const scope = adminScopeOfSession(token, 'Prices')
    const { priceBooks } = accounts
    if (asked.sku !== undefined) {
      const list = await readSkuPrices(priceBooks, scope, { ...asked, sku: asked.sku })
      return { list: withFiles(list, true), tenantIds: [] }
    }
    const { tenant_id: id } = asked
    if (id !== undefined) {
      const list = await listAccountPrices(accounts, scope, id, asked.all === 'true')
      return { list: withFiles(list, true), tenantIds: [id] }
    }
    return { list: withFiles(readBooks(priceBooks, scope, {}), true), tenantIds: [] }
  },
}

/** Price books for operators, and the prices of one tenant. */
export const pricesPage: Page<typeof query, PricesFacts> = {
  path: paths.prices,
  roles: ['finance'],
  query,
  read: (services, _who, { query: asked, token }) => read(services, token, asked),
  tenantsOf: ({ tenant }) => [tenant?.id],
  filter: () => ({ title: 'Prices', action: pricesHref(), part: PART, fields: fields }),
  title: () => 'Prices',
  show: (facts, view) => <PricesPage facts={facts} view={view} />,
}
