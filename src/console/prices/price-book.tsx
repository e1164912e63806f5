import { type Static, Type } from 'typebox'
import { readBook, readBooks, readDifference } from '../../api/admin/prices/books.ts'
import { readWhatIf } from '../../api/admin/prices/what-if.ts'
import { withFiles } from '../../api/kit/answers/lists.ts'
import { KnownId } from '../../api/kit/routes/account-surface.ts'
import { readTimeRange, readZone, timeRangeMembers } from '../../api/query/time-range.ts'
import type { Principal } from '../../app/access/principal.ts'
import { scopeOfAdminToken } from '../../app/accounts/admin-scope.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { fieldOf, timeFields } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { bookHref, paths } from '../kit/href.ts'
import { factsOrWords, Panel, type PanelFacts } from '../kit/panel.tsx'
import { Download, tableFormats } from '../kit/download.tsx'
import type { TableColumn } from '../kit/table.tsx'
import { LedgerTabs } from '../kit/tabs.tsx'
import { withTime } from '../kit/time-pages.tsx'
import { Facts, grouped, Moment } from '../kit/values.tsx'
import { FirstRows, PriceOf } from '../kit/prices.tsx'
import {
  bookPath,
  type Cost,
  type PriceDifference,
  DifferencePanel,
  WhatIfPanel,
} from './panels.tsx'
import type { ConsoleServices, Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
import { adminScopeOfSession } from '../session/reading-as.ts'

/** One price book: its prices, its difference from another, and the cost of past usage under it. */

type Book = Awaited<ReturnType<Awaited<ReturnType<typeof readBook>>['page']>>
type Price = Book['prices'][number]

const query = Type.Object({
  tz: timeRangeMembers.tz,
  from: timeRangeMembers.from,
  to: timeRangeMembers.to,
  time_preset: timeRangeMembers.time_preset,
  against: Type.Optional(Type.String({ maxLength: 128 })),
  tenant_id: Type.Optional(KnownId),
})
type Query = Static<typeof query>

interface BookFacts {
  readonly query: Query
  readonly book: Book
  /** The versions to compare with. */
  readonly versions: readonly string[]
  readonly difference: PanelFacts<PriceDifference> | undefined
  /** Undefined unless a time was asked for: it reads every line of the time. */
  readonly whatIf: Cost | undefined
}

const PART = 'book'
/** The latest books are offered to compare with. */
const MAX_VERSIONS = 200

/** Reads the cost of the usage of a time; undefined where no time was asked for. */
async function readCost(
  { accounts, clock }: ConsoleServices,
  token: Principal,
  version: string,
  { against: _against, tenant_id, ...time }: Query,
): Promise<BookFacts['whatIf']> {
  if (time.from === undefined && time.to === undefined && time.time_preset === undefined)
    return undefined
  const nowMs = clock.nowMs()
  const { fromMs = 0, toMs = nowMs } = readTimeRange(withTime(time, 'last_month'), nowMs)
  const asked = {
    from: toTimestamp(fromMs),
    to: toTimestamp(toMs),
    ...(tenant_id === undefined ? {} : { tenant_id }),
  }
  const of = await factsOrWords(() =>
    readWhatIf(accounts.priceBooks, scopeOfAdminToken(token), version, asked),
  )
  return { of, from: bookPath(version, '/what-if', asked) }
}

async function read(
  services: ConsoleServices,
  token: Principal,
  version: string,
  asked: Query,
): Promise<BookFacts> {
  const scope = adminScopeOfSession(token, 'Prices')
  readZone(asked.tz)
  const { priceBooks } = services.accounts
  // A version that is missing is the fault of the page, whatever else was asked for.
  const book = await (await readBook(priceBooks, scope, version)).page()
  const list = await readBooks(priceBooks, scope, { limit: MAX_VERSIONS }).page()
  const all = list.items.map((one) => one.version)
  // The list has the latest first, so that the book before this one stands behind it.
  const at = all.indexOf(version)
  const { against = at === -1 ? undefined : all[at + 1] } = asked
  const [difference, whatIf] = await Promise.all([
    against === undefined
      ? undefined
      : factsOrWords(() => readDifference(priceBooks, scope, { version, against })),
    readCost(services, token, version, asked),
  ])
  const versions = all.filter((one) => one !== version)
  return { query: { ...asked, ...(against && { against }) }, book, versions, difference, whatIf }
}

const priceColumns = (from: string, prices: readonly Price[]): readonly TableColumn<Price>[] => [
  { name: 'SKU', narrow: 'lead', cell: ({ sku }) => sku },
  ...(prices.some(({ demonstration }) => demonstration === true)
    ? [
        {
          name: 'applies',
          cell: ({ demonstration }: Price) =>
            demonstration === true ? 'sandbox only' : 'everywhere',
        },
      ]
    : []),
  { name: 'price', right: true, cell: (price) => <PriceOf of={price} from={from} /> },
]

function BookPage({ facts, view }: { readonly facts: BookFacts; readonly view: View }) {
  const { query: asked, book, versions, difference, whatIf } = facts
  const { version, prices } = book
  const from = bookPath(version)
  const fields = [
    { name: 'against', label: 'Compare with', options: versions, noChoice: 'the one before' },
    ...timeFields('ledger', { label: 'Cost of usage of', noChoice: 'none' }),
    fieldOf.tenant,
  ]
  return (
    <>
      <h1 class="title">Price book {version}</h1>
      <LedgerTabs at={paths.book} token={view.token} asked={asked} />
      <Panel id="terms" title="Terms">
        <Facts
          facts={[
            [
              'takes effect',
              <Moment atMs={fromTimestamp(book.effective_from)} clock={view.clock} />,
            ],
            ['published', <Moment atMs={fromTimestamp(book.published_at)} clock={view.clock} />],
            ['published by', book.published_by ?? 'not recorded'],
            ['prices', grouped(String(prices.length))],
          ]}
        />
      </Panel>
      <FilterForm action={bookHref(version)} part={PART} fields={fields} values={asked} />
      <div id={PART} aria-live="polite">
        {difference === undefined || asked.against === undefined ? null : (
          <DifferencePanel of={difference} version={version} against={asked.against} />
        )}
        {whatIf === undefined ? null : <WhatIfPanel {...whatIf} />}
      </div>
      <Panel id="prices" title="Prices">
        <FirstRows
          from={from}
          label="All prices of the book"
          columns={priceColumns(from, prices)}
          rows={prices}
          keyOf={({ sku, currency }) => `${sku} ${currency}`}
          empty="This price book has no prices."
        />
        <Download page={bookHref(version)} query={{}} from={from} token="admin" />
      </Panel>
    </>
  )
}

const fileQuery = Type.Object({})

/** All prices of the book. */
export const bookFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: async ({ accounts: { priceBooks } }, _who, { id, token }) => {
    const list = await readBook(priceBooks, adminScopeOfSession(token, 'Prices'), id)
    return { list: withFiles(list, true), tenantIds: [] }
  },
}

/** A price book by its version. */
export const bookPage: Page<typeof query, BookFacts> = {
  path: paths.book,
  roles: ['finance'],
  query,
  read: (services, _who, { id, query: asked, token }) => read(services, token, id, asked),
  tenantsOf: ({ query: { tenant_id: tenantId } }) => [tenantId],
  title: ({ book }) => `Price book ${book.version}`,
  show: (facts, view) => <BookPage facts={facts} view={view} />,
}
