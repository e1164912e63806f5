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
      show={(found) => (
        <>
          <FirstRows
            from={from}
            label="Changes"
            columns={changeColumns(from)}
            rows={changesOf(found)}
            keyOf={(one) => `${one.word} ${nameOf(one)} ${(one.after ?? one.before)?.currency}`}
            empty="Both price books have the same prices."
          />
          <p class="note">{grouped(String(found.unchanged))} prices are unchanged.</p>
        </>
      )}
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
  {
    name: 'settled',
    right: true,
    cell: ({ recorded, currency }) => <Money amount={recorded} currency={currency} from={from} />,
  },
  {
    name: 'at these prices',
    right: true,
    cell: ({ what_if: cost }) =>
      cost === null ? 'no price, refused' : <Money amount={cost} from={from} />,
  },
  {
    name: 'difference',
    right: true,
    cell: ({ difference }) =>
      difference === null ? '' : <Money amount={difference} from={from} />,
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

export function WhatIfPanel({ of, from }: Cost): JSX.Element {
  return (
    <FactsPanel
      id="what-if"
      title="Cost of past usage at these prices"
      of={of}
      show={({ rows, totals }) => (
        <>
          <WhatIfTotals totals={totals} from={from} />
          <FirstRows
            from={from}
            label="Past usage at these prices"
            columns={rowColumns(from)}
            rows={rows}
            keyOf={({ tenant_id: tenant, sku, currency, unit }) =>
              `${tenant} ${sku} ${currency} ${unit}`
            }
            empty="Nothing was settled in this time. Choose a longer time, or clear the tenant."
          />
          <p class="note">
            Own prices of tenants still apply. This is a calculation: nothing is changed.
          </p>
        </>
      )}
    />
  )
}
