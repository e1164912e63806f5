import { type Static, Type } from 'typebox'
import type { UsageQuery } from '../../api/query/usage.ts'
import type { FilterField } from '../kit/fields.ts'
import { withTime } from '../kit/time-pages.tsx'
import { type Dimension, dimensions, dimensionWords, wordOf } from './dimensions.ts'
import { lineFields, lineMembers } from './line-query.ts'

/** The members of an address that name sums of lines, the fields that fill them in, and the query of the API. */

const DimensionMember = Type.Optional(
  Type.Unsafe<Dimension>(
    Type.String({
      pattern: `^(?:${dimensions.join('|')}|tag:[^,]{1,64})$`,
      words: `must be one of ${dimensions.join(', ')}, tag:<key>`,
    }),
  ),
)

/** Numbers of groups to choose from. */
const tops = ['10', '50', '100'] as const

export const summaryQuery = Type.Object({
  ...lineMembers,
  by: DimensionMember,
  and: DimensionMember,
  sort: Type.Optional(Type.String({ maxLength: 80 })),
  top: Type.Optional(Type.Enum([...tops])),
  // A field named `before`, as the API has it, would hide a method of its form from the script.
  compare: Type.Optional(Type.Enum(['true'])),
})
export type SummaryQuery = Static<typeof summaryQuery>

/** A query with what the page has where it was not asked for, and the same as the API takes it. */
export function reportOf(asked: SummaryQuery) {
  const dated = withTime(asked, '30d')
  const shown = { ...dated, by: dated.by ?? ('day' as const) }
  const { by, and, sort, top, compare, ...conditions } = shown
  const dimensionsOf: readonly Dimension[] = and === undefined ? [by] : [by, and]
  // The first ones are those of the largest sums.
  const order = sort ?? (top === undefined ? undefined : '-net')
  const report: UsageQuery = {
    ...conditions,
    group_by: dimensionsOf.join(','),
    ...(order !== undefined && { sort: order }),
    ...(top !== undefined && { top: Number(top) }),
    ...(compare !== undefined && { before: compare }),
  }
  return { shown, by: dimensionsOf, order, conditions, report }
}

/** The fields of the filter, with the tags that a tenant has declared. */
export function summaryFields(tagKeys: readonly string[]): readonly FilterField[] {
  const tags = tagKeys.map((key) => `tag:${key}` as const)
  const options = [...dimensions, ...tags]
  const words = {
    ...dimensionWords,
    ...Object.fromEntries(tags.map((tag) => [tag, `tag ${wordOf(tag)}`])),
  }
  return [
    { name: 'by', label: 'Group by', options, words, noChoice: null },
    { name: 'and', label: 'Then by', options, words, noChoice: 'none' },
    { name: 'top', label: 'Largest', options: tops, noChoice: 'all' },
    {
      name: 'compare',
      label: 'Compare',
      options: ['true'],
      words: { true: 'with the time before' },
      noChoice: 'no',
    },
    ...lineFields,
  ]
}
