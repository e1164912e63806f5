import type { JSX } from 'preact'
import { Table } from './table.tsx'
import { grouped, Money } from './values.tsx'

/** Prices, and tables that are long where all prices are shown. */

/** A price as the API shows it. */
interface Price {
  readonly currency: string
  readonly price: string
  readonly per: number
  readonly unit: string
}

/** More rows are no page for people. */
const MAX_ROWS = 1_000

export function PriceOf({ of, from }: { readonly of: Price; readonly from: string }): JSX.Element {
  return (
    <>
      <Money amount={of.price} currency={of.currency} from={from} />
      <span class="note">
        {' '}
        / {of.per === 1 ? of.unit : `${grouped(String(of.per))} ${of.unit}`}
      </span>
    </>
  )
}

/** The first rows of a table that is too long for a page, and where all of them are. */
export function FirstRows<Row>({
  rows,
  from,
  ...table
}: Parameters<typeof Table<Row>>[0] & { readonly from: string }): JSX.Element {
  return (
    <>
      <Table {...table} rows={rows.slice(0, MAX_ROWS)} />
      {rows.length > MAX_ROWS ? (
        <p class="note">
          The first {grouped(String(MAX_ROWS))} of {grouped(String(rows.length))}. All are in{' '}
          <code>GET {from}</code>.
        </p>
      ) : null}
    </>
  )
}
