import type { JSX } from 'preact'
import type { readDifference } from '../../api/admin/prices/books.ts'
import type { readWhatIf } from '../../api/admin/prices/what-if.ts'
import { adminPath } from '../kit/href.ts'
import { FactsPanel, type PanelFacts } from '../kit/panel.tsx'
import type { TableColumn } from '../kit/table.tsx'
import { FirstRows, PriceOf } from '../kit/prices.tsx'
import { grouped, Money } from '../kit/values.tsx'

/** The panels of a price book: its changes from another, and the cost of past usage under it. */

export type PriceDifference = Awaited<ReturnType<typeof readDifference>>
export type WhatIf = Awaited<ReturnType<typeof readWhatIf>>

type BookPrice = PriceDifference['added'][number]

/** The cost of the usage of a time, with the route that answers it. */
export interface Cost {
  readonly of: PanelFacts<WhatIf>
  readonly from: string
}

export const bookPath = (
  version: string,
  rest = '',
  asked: Readonly<Record<string, string | undefined>> = {},
) => adminPath(`/price-books/${encodeURIComponent(version)}${rest}`, asked)

/** A change in per cent; empty where there is none to compare with. */
export const percentWords = (percent: string | null): string =>
  percent === null ? '' : `${percent.replace('-', '−')} %`

interface Change {
  readonly word: 'added' | 'removed' | 'changed'
  readonly before: BookPrice | undefined
  readonly after: BookPrice | undefined
  readonly percent: string | null
}

const changesOf = ({ added, removed, changed }: PriceDifference): readonly Change[] => [
  ...changed.map((one) => ({ word: 'changed' as const, ...one })),
  ...added.map((after) => ({ word: 'added' as const, before: undefined, after, percent: null })),
  ...removed.map((before) => ({
    word: 'removed' as const,
    before,
    after: undefined,
    percent: null,
  })),
]

/** Whether the price itself differs, and not only where it applies. */
const isOfPrice = ({ before, after }: Change): boolean =>
  before === undefined ||
  after === undefined ||
  before.price !== after.price ||
  before.per !== after.per ||
  before.unit !== after.unit

const nameOf = ({ before, after }: Change): string => (after ?? before)?.sku ?? ''

const changeColumns = (from: string): readonly TableColumn<Change>[] => [
  { name: 'SKU', narrow: 'lead', cell: nameOf },
  { name: 'change', cell: ({ word }) => word },
  {
    name: 'before',
    right: true,
    cell: ({ before }) => (before === undefined ? '' : <PriceOf of={before} from={from} />),
  },
  {
    name: 'after',
    right: true,
    cell: ({ after }) => (after === undefined ? '' : <PriceOf of={after} from={from} />),
  },
  { name: 'difference', right: true, cell: ({ percent }) => percentWords(percent) },
]

export function DifferencePanel({
  of,
  version,
  against,
}: {
  readonly of: PanelFacts<PriceDifference>
  readonly version: string
  readonly against: string
}): JSX.Element {
  const from = bookPath(version, '/diff', { against })
  return (
    <FactsPanel
      id="difference"
      title={`Changes from ${against} to ${version}`}
      of={of}
      show={(found) => {
        const changes = changesOf(found)
        const others = changes.filter((one) => !isOfPrice(one))
        return (
          <>
            <Changed label="Changes" rows={changes.filter(isOfPrice)} from={from} />
            {others.length === 0 ? null : (
              <details class="same">
                <summary>
                  {grouped(String(others.length))} {others.length === 1 ? 'price' : 'prices'} apply
                  elsewhere, at the same figure
                </summary>
                <Changed label="Prices that apply elsewhere" rows={others} from={from} />
              </details>
            )}
            <p class="note">{grouped(String(found.unchanged))} prices are unchanged.</p>
          </>
        )
      }}
    />
  )
}

function Changed({
  label,
  rows,
  from,
}: {
  readonly label: string
  readonly rows: readonly Change[]
  readonly from: string
}): JSX.Element {
  return (
    <FirstRows
      from={from}
      label={label}
      columns={changeColumns(from)}
      rows={rows}
      keyOf={(one) => `${one.word} ${nameOf(one)} ${(one.after ?? one.before)?.currency}`}
      empty="Both price books have the same prices."
    />
  )
}

const rowColumns = (from: string): readonly TableColumn<WhatIf['rows'][number]>[] => [
  { name: 'tenant', cell: (row) => row.tenant_id },
  { name: 'SKU', narrow: 'lead', cell: ({ sku }) => sku },
  { name: 'lines', right: true, cell: ({ lines }) => grouped(String(lines)) },
  {
    name: 'quantity',
    right: true,
    narrow: 'drop',
    cell: ({ quantity, unit }) => `${grouped(quantity)} ${unit}`,
  },
  { name: 'settled', money: ({ recorded, currency }) => ({ amount: recorded, currency, from }) },
  {
    name: 'at these prices',
    right: true,
    cell: ({ what_if: cost }) =>
      cost === null ? 'no price, refused' : <Money amount={cost} from={from} />,
  },
  {
    name: 'difference',
    money: ({ difference }) => (difference === null ? undefined : { amount: difference, from }),
  },
  { name: 'change', right: true, cell: ({ percent }) => percentWords(percent) },
]

function WhatIfTotals({
  totals,
  from,
}: {
  readonly totals: WhatIf['totals']
  readonly from: string
}) {
  return (
    <ul class="totals" aria-label="Totals">
      {totals.map(({ currency, what_if: cost, recorded, difference, unpriced }) => (
        <li key={currency}>
          <Money amount={cost} currency={currency} from={from} />{' '}
          <span class="note">
            instead of <Money amount={recorded} from={from} />: a difference of{' '}
            <Money amount={difference} from={from} />
            {unpriced.lines === 0 ? null : (
              <>
                ; not included: {grouped(String(unpriced.lines))} lines of{' '}
                <Money amount={unpriced.recorded} from={from} /> without a price in this book
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Whether the usage of a row costs something else, or has no price, under the book. */
const isDifferent = ({ difference }: WhatIf['rows'][number]): boolean =>
  difference === null || /[1-9]/.test(difference)

/** Rows that cost something else first; the others are folded, and counted. */
function WhatIfRows({ rows, from }: { readonly rows: WhatIf['rows']; readonly from: string }) {
  const table = (label: string, shown: WhatIf['rows'], empty: string) => (
    <FirstRows
      from={from}
      label={label}
      columns={rowColumns(from)}
      rows={shown}
      keyOf={({ tenant_id: tenant, sku, currency, unit }) => `${tenant} ${sku} ${currency} ${unit}`}
      empty={empty}
    />
  )
  if (rows.length === 0)
    return table(
      'Past usage at these prices',
      rows,
      'Nothing was settled in this time. Choose a longer time, or clear the tenant.',
    )
  const same = rows.filter((row) => !isDifferent(row))
  return (
    <>
      {table(
        'Past usage that costs something else',
        rows.filter(isDifferent),
        'Nothing would have cost anything else.',
      )}
      {same.length === 0 ? null : (
        <details class="same">
          <summary>
            {grouped(String(same.length))} {same.length === 1 ? 'row costs' : 'rows cost'} the same
          </summary>
          {table('Past usage that costs the same', same, '')}
        </details>
      )}
    </>
  )
}

export function WhatIfPanel({ of, from }: Cost): JSX.Element {
  return (
    <FactsPanel
      id="what-if"
      title="Cost of past usage at these prices"
      of={of}
      show={({ rows, totals }) => (
        <>
          <WhatIfTotals totals={totals} from={from} />
          <WhatIfRows rows={rows} from={from} />
          <p class="note">
            Own prices of tenants still apply. This is a calculation: nothing is changed.
          </p>
        </>
      )}
    />
  )
}
