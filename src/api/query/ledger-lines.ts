import type { Static } from 'typebox'
import { toTimestamp } from '../../kernel/clock.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import type { LedgerLine } from './reads.ts'
import { LedgerLineSchema } from './schemas.ts'

type Line = Static<typeof LedgerLineSchema>

/** The members, in the order in which the API shows them. */
const lineColumns = Object.keys(LedgerLineSchema.properties) as readonly (keyof Line)[]

/** Each column shows the member of a line with the same name. */
const shown = lineColumns.map((column) => {
  const member = column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  return [column, member as keyof LedgerLine] as const
})

/** A line as the API shows it. */
export function toLine(line: LedgerLine): Line {
  const members = Object.fromEntries(shown.map(([column, member]) => [column, line[member]]))
  return {
    ...(members as Line),
    settled_at: toTimestamp(line.settledAtMs),
    net: formatAmount(parseAmount(line.amount) - parseAmount(line.adjusted)),
    tags: line.tags === null ? null : (JSON.parse(line.tags) as Readonly<Record<string, string>>),
  }
}
