import type { JSX } from 'preact'
import type { readSkuPrices } from '../../api/admin/prices/skus.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { Download } from '../kit/download.tsx'
import { adminPath, bookHref, pricesHref } from '../kit/href.ts'
import { FactsPanel, type PanelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { PriceOf } from '../kit/prices.tsx'
import { Moment, type ZoneClock } from '../kit/values.tsx'

/** The list prices of one SKU over time, the price at the asked time marked. */

/** The prices of a SKU, as the API answers them. */
export type SkuPrices = Awaited<ReturnType<Awaited<ReturnType<typeof readSkuPrices>>['page']>>
type SkuPrice = SkuPrices['items'][number]

const columnsIn = (clock: ZoneClock, from: string): readonly TableColumn<SkuPrice>[] => [
  {
    name: 'price',
    narrow: 'lead',
    cell: (one) =>
      one.is_at ? (
        <strong>
          <PriceOf of={one} from={from} />
        </strong>
      ) : (
        <PriceOf of={one} from={from} />
      ),
  },
  { name: 'at the time', cell: ({ is_at: isAt }) => (isAt ? 'yes' : '') },
  { name: 'from', cell: ({ from: at }) => <Moment atMs={fromTimestamp(at)} clock={clock} /> },
  {
    name: 'until',
    cell: ({ until }) =>
      until === null ? 'now' : <Moment atMs={fromTimestamp(until)} clock={clock} />,
  },
  {
    name: 'price book',
    cell: ({ price_book_version: version }) => <a href={bookHref(version)}>{version}</a>,
  },
]

/** The panel of the prices of a SKU. */
export function SkuPanel({
  of,
  sku,
  at,
  clock,
}: {
  readonly of: PanelFacts<SkuPrices>
  readonly sku: string
  readonly at: string | undefined
  readonly clock: ZoneClock
}): JSX.Element {
  const from = adminPath('/sku-prices', { sku, at })
  return (
    <FactsPanel
      id="sku"
      title={`List prices of ${sku}`}
      of={of}
      show={({ items, at: moment }) => (
        <>
          <p class="note">
            The table marks the price at <Moment atMs={fromTimestamp(moment)} clock={clock} />. Own
            prices of a tenant come first for that tenant.
          </p>
          <Table
            label={`List prices of ${sku}`}
            columns={columnsIn(clock, from)}
            rows={items}
            keyOf={(one) => `${one.currency} ${one.from}`}
            empty="It never had a price."
          />
          <Download page={pricesHref()} query={{ sku, at: moment }} from={from} token="admin" />
        </>
      )}
    />
  )
}
