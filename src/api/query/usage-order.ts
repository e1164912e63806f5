import { Type } from 'typebox'
import { parseAmount } from '../../kernel/money.ts'
import { sorted, type Work } from '../../kernel/turns.ts'
import { RequestError } from '../kit/request-error.ts'

/** The order of groups of usage, and the first of them. */

/** The most groups that `top` leaves of a currency. */
const MAX_TOP = 1_000

/** Parameters of the order. */
export const orderMembers = {
  sort: Type.Optional(
    Type.String({
      maxLength: 80,
      description:
        'A column of the answer: the smallest first, or the largest with a `-` before it, as `-net`; each currency by itself.',
      examples: ['-net'],
    }),
  ),
  top: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_TOP,
      description: 'Only so many groups of each currency, the first ones; `totals` are of all.',
    }),
  ),
} as const

/** A group as it is shown. */
type Shown = Readonly<Record<string, string | number | null>> & { readonly currency: string }

/** Columns that are exact decimals; other texts are compared as texts. */
const decimals: ReadonlySet<string> = new Set([
  'amount',
  'refunded',
  'net',
  'net_before',
  'change',
  'quantity',
])

interface Order {
  readonly column: string
  readonly isDescending: boolean
}

/** The column and the direction of a `sort`. @throws RequestError where the answer has no such column */
export function readSort(sort: string | undefined, columns: readonly string[]): Order | undefined {
  if (sort === undefined) return undefined
  const isDescending = sort.startsWith('-')
  const column = isDescending ? sort.slice(1) : sort
  if (columns.includes(column)) return { column, isDescending }
  throw new RequestError(
    'parameter_invalid',
    `sort must be one of ${columns.join(', ')}, with a - before it for the largest first`,
    'sort',
  )
}

type Value = bigint | number | string | null

function compare(one: Value, other: Value, isDescending: boolean): number {
  if (one === other) return 0
  // A group without a value stands last in both directions.
  if (one === null) return 1
  if (other === null) return -1
  return one < other === isDescending ? 1 : -1
}

/** Groups in an order, each currency by itself; without one as they are. */
export function* ordered<Item extends Shown>(
  items: readonly Item[],
  order: Order | undefined,
): Work<readonly Item[]> {
  if (order === undefined) return items
  const { column, isDescending } = order
  const valueOf = (item: Item): Value => {
    const value = item[column] ?? null
    return typeof value === 'string' && decimals.has(column) ? parseAmount(value) : value
  }
  const valued = items.map((item) => ({ item, value: valueOf(item) }))
  const inOrder = yield* sorted(valued, (one, other) => {
    const { currency } = one.item
    if (currency !== other.item.currency) return currency < other.item.currency ? -1 : 1
    return compare(one.value, other.value, isDescending)
  })
  return inOrder.map(({ item }) => item)
}

/** The first groups of each currency. */
export function firstOf<Item extends Shown>(
  items: readonly Item[],
  top: number | undefined,
): readonly Item[] {
  if (top === undefined) return items
  const counts = new Map<string, number>()
  return items.filter(({ currency }) => {
    const count = (counts.get(currency) ?? 0) + 1
    counts.set(currency, count)
    return count <= top
  })
}
