import type { JSX } from 'preact'
import type { readLines } from '../../api/query/ledger.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { apiPath, lifeHref, lineHref, linesHref } from './href.ts'
import type { TableColumn } from './table.tsx'
import { grouped, Id, Moment, type ZoneClock } from './values.tsx'

/** Settled lines as tables show them. */

/** A page of settled lines. */
export type Lines = Awaited<ReturnType<Awaited<ReturnType<typeof readLines>>['page']>>
/** A settled line, as lists have it. */
export type Line = Lines['items'][number]

/** Links that sort lines by a column. */
interface LineSorts {
  readonly settled: TableColumn<Line>['sort']
  readonly amount: TableColumn<Line>['sort']
}

const sortBy = (sort: TableColumn<Line>['sort']) => (sort === undefined ? {} : { sort })

/** Columns of settled lines. */
export const lineColumns = (
  clock: ZoneClock,
  tz: string | undefined,
  sorts?: LineSorts,
): readonly TableColumn<Line>[] => [
  {
    name: 'settled',
    ...sortBy(sorts?.settled),
    cell: ({ settled_at: at, line_id: id }) => (
      <a href={lineHref(id, { tz })}>
        <Moment atMs={fromTimestamp(at)} clock={clock} precision="s" />
      </a>
    ),
  },
  {
    name: 'life',
    narrow: 'lead',
    cell: ({ source_id: id }) => <Id id={id} href={lifeHref(id)} />,
  },
  { name: 'SKU', oneLine: true, cell: ({ sku }) => sku },
  {
    name: 'owner',
    cell: (line) => `${line.tenant_name ?? line.tenant_id}, ${line.user_name ?? line.user_id}`,
  },
  {
    name: 'quantity',
    right: true,
    oneLine: true,
    cell: ({ quantity, unit, measurement }) =>
      `${grouped(String(quantity))} ${unit}${measurement === 'estimated' ? ', estimated' : ''}`,
  },
  {
    name: 'price',
    right: true,
    oneLine: true,
    narrow: 'drop',
    cell: ({ price, per }) => `${grouped(price)}${per === 1 ? '' : ` / ${grouped(String(per))}`}`,
  },
  {
    name: 'amount',
    ...sortBy(sorts?.amount),
    money: (line) => ({ amount: line.amount, currency: line.currency, from: fromOf(line) }),
  },
  {
    name: 'refunded',
    money: (line) =>
      line.adjusted === '0' ? undefined : { amount: line.adjusted, from: fromOf(line) },
  },
]

/** The labels of a request: its end user and its tags, each with the lines that have it. */
export function Labels({
  line: { tenant_id, end_user: endUser, tags },
  tz,
  isLinked = true,
}: {
  readonly line: Pick<Line, 'tenant_id' | 'end_user' | 'tags'>
  readonly tz?: string | undefined
  /** False for readers who see no lines. */
  readonly isLinked?: boolean
}): JSX.Element | null {
  const labels = [
    ...(endUser === null ? [] : [[`end user ${endUser}`, { end_user: endUser }] as const]),
    ...Object.entries(tags ?? {}).map(
      ([key, value]) => [`${key}: ${value}`, { tag: `${key}:${value}` }] as const,
    ),
  ]
  if (labels.length === 0) return null
  return (
    <ul class="labels">
      {labels.map(([words, asked]) => (
        <li key={words}>
          {isLinked ? <a href={linesHref({ ...asked, tenant_id, tz })}>{words}</a> : words}
        </li>
      ))}
    </ul>
  )
}

/** Whether a request has labels. */
export const hasLabels = ({ end_user: endUser, tags }: Pick<Line, 'end_user' | 'tags'>): boolean =>
  endUser !== null || Object.keys(tags ?? {}).length > 0

/** The column of labels, for lists in which some line has any. */
export const labelColumn = (tz: string | undefined): TableColumn<Line> => ({
  name: 'end user and tags',
  cell: (line) => <Labels line={line} tz={tz} />,
})

const fromOf = ({ source_id, sku }: Line): string => apiPath('/ledger/lines', { source_id, sku })
