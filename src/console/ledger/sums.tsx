import type { ComponentChildren, JSX } from 'preact'
import type { readUsage } from '../../api/query/usage.ts'
import { summaryHref } from '../kit/href.ts'
import type { PanelFacts } from '../kit/panel.tsx'
import type { TableColumn } from '../kit/table.tsx'
import { grouped, Moment, type ZoneClock } from '../kit/values.tsx'
import {
  type Bounds,
  conditionsOf,
  type Dimension,
  isTag,
  linesOf,
  memberOf,
  type Summed,
  wordOf,
} from './dimensions.ts'
import type { SummaryQuery } from './summary-query.ts'

/** The rows of a summary: each sum with the address of its lines, in the order of any column. */

/** Sums as the API answers them. */
export type Usage = Awaited<ReturnType<Awaited<ReturnType<typeof readUsage>>['page']>>
type Item = Usage['items'][number]

export interface Sums {
  readonly usage: Usage
  readonly bounds: Bounds
  /** The tenants of the sums, where something of one tenant was asked for. */
  readonly tenants: readonly { readonly tenant_id: string }[]
}

export interface SummaryFacts {
  readonly query: SummaryQuery
  readonly by: readonly Dimension[]
  /** The order of the sums, as the API takes it. */
  readonly order: string | undefined
  /** The tags that the tenant has declared. */
  readonly tagKeys: readonly string[]
  readonly sums: PanelFacts<Sums>
}

/** The time and the position of sums, which name their lines. */
export const summedOf = ({ usage, bounds }: Sums): Summed => ({ bounds, asOf: usage.as_of })

/** The value of a dimension for people: a name stands before its id. */
export function labelOf(item: Item, dimension: Dimension): string {
  const id = item[memberOf(dimension)]
  if (id === null || id === undefined) return 'none'
  const name = item[`${dimension}_name`]
  return typeof name === 'string' && name !== id ? `${name} (${id})` : String(id)
}

/** The values of the dimensions of a row. */
export function valuesOf(item: Item, by: readonly Dimension[]): Partial<Record<Dimension, string>> {
  return Object.fromEntries(by.map((one) => [one, String(item[memberOf(one)])]))
}

/** The lines of a group; undefined where no filter names them: lines without a tag, or with two tags. */
function hrefOfItem(item: Item, { by, query: asked }: SummaryFacts, sums: Sums) {
  const tags = by.filter(isTag).length + (asked.tag === undefined ? 0 : 1)
  if (tags > 1 || by.some((one) => item[memberOf(one)] === null)) return undefined
  return linesOf(asked, summedOf(sums), valuesOf(item, by), item.currency)
}

/** The address of a summary at its position, in another order. */
function sortedHref({ query: asked, by: [by, and], order }: SummaryFacts, sums: Sums) {
  const { top, compare } = asked
  const conditions = { ...conditionsOf(asked, summedOf(sums)), by, and, top, compare }
  return (column: string, first: '' | '-') => {
    const now = order === column ? 'ascending' : order === `-${column}` ? 'descending' : undefined
    const isTurned = now === (first === '' ? 'ascending' : 'descending')
    const other = first === '' ? '-' : ''
    const sort = `${isTurned ? other : first}${column}`
    return { href: summaryHref({ ...conditions, sort }), now } as const
  }
}

/** The columns of a summary. */
export function columnsOf(
  facts: SummaryFacts,
  sums: Sums,
  from: string,
): readonly TableColumn<Item>[] {
  const { by, query: asked } = facts
  const sortOf = sortedHref(facts, sums)
  const figure = (name: string, column: string, cell: (item: Item) => ComponentChildren) => {
    return { name, right: true, sort: sortOf(column, '-'), cell } as const
  }
  const money = (
    name: string,
    column: string,
    amountOf: (item: Item) => string | undefined,
    hasCurrency = false,
  ): TableColumn<Item> => ({
    name,
    sort: sortOf(column, '-'),
    money: (item) => {
      const amount = amountOf(item)
      const currency = hasCurrency ? item.currency : undefined
      return amount === undefined ? undefined : { amount, currency, from }
    },
  })
  const unlessZero = (amount: string | undefined) => (amount === '0' ? undefined : amount)
  return [
    ...by.map((dimension, index): TableColumn<Item> => ({
      name: wordOf(dimension),
      sort: sortOf(memberOf(dimension), ''),
      ...(index === 0 ? { narrow: 'lead' as const } : {}),
      cell: (item) => {
        const label = labelOf(item, dimension)
        const href = index > 0 ? undefined : hrefOfItem(item, facts, sums)
        return href === undefined ? label : <a href={href}>{label}</a>
      },
    })),
    figure('calls and tasks', 'requests', ({ requests }) =>
      requests === null ? '' : grouped(String(requests)),
    ),
    figure('lines', 'lines', ({ lines }) => grouped(String(lines))),
    money('settled', 'amount', ({ amount }) => amount, true),
    money('refunded', 'refunded', ({ refunded }) => unlessZero(refunded)),
    money('net', 'net', ({ net }) => net),
    ...(asked.compare === undefined
      ? []
      : [
          money('net before', 'net_before', (item) => unlessZero(item.net_before)),
          {
            name: 'change',
            sort: sortOf('change', '-'),
            money: ({ change = '0' }: Item) => ({ amount: change, from, isSigned: true }),
          },
        ]),
  ]
}

/** The time that sums are compared with. */
export function Compared({
  before: { start_time: start, end_time: end },
  clock,
}: {
  readonly before: NonNullable<Usage['before']>
  readonly clock: ZoneClock
}): JSX.Element {
  return (
    <p class="note">
      Compared with <Moment atMs={(start ?? 0) * 1_000} clock={clock} /> to{' '}
      <Moment atMs={(end ?? 0) * 1_000} clock={clock} />.
    </p>
  )
}
