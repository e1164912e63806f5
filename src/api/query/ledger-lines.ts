import type { Static } from 'typebox'
import { userKey } from '../../../projections/access/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import {
  type LedgerFilter,
  type LineOrder,
  listLines,
  MAX_SORTED_LINES,
  sortedLines,
} from '../../../projections/ledger/query.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { RequestError } from '../kit/request-error.ts'
import type { AccountReads } from './account-reads.ts'
import type { LedgerLine } from './reads.ts'
import { LedgerLineSchema } from './schemas.ts'

type Line = Static<typeof LedgerLineSchema>

/** The members, in the order in which the API shows them. */
const lineColumns = Object.keys(LedgerLineSchema.properties) as readonly (keyof Line)[]

/** Each column shows the member of a line with the same name. */
const shown = lineColumns.map((column) => {
  const member = column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  return [column, member as keyof NamedLine] as const
})

/** A line with the names of its owner; a name that is not known is null. */
interface NamedLine extends LedgerLine {
  readonly tenantName: string | null
  readonly userName: string | null
  readonly tokenName: string | null
}

/** Adds the names of their owners to a page of lines. */
export async function withNames<Page extends { readonly items: readonly LedgerLine[] }>(
  accounts: Pick<AccountReads, 'names'>,
  page: Page,
): Promise<Omit<Page, 'items'> & { readonly items: readonly NamedLine[] }> {
  const { items } = page
  const names = await accounts.names({
    tenants: [...new Set(items.map(({ tenantId }) => tenantId))],
    users: items,
    tokens: [...new Set(items.map(({ tokenId }) => tokenId))],
  })
  const named = items.map((line) => ({
    ...line,
    tenantName: names.tenants.get(line.tenantId) ?? null,
    userName: names.users.get(userKey(line)) ?? null,
    tokenName: names.tokens.get(line.tokenId) ?? null,
  }))
  return { ...page, items: named }
}

/** A line as the API shows it. */
export function toLine(line: NamedLine): Line {
  const members = Object.fromEntries(shown.map(([column, member]) => [column, line[member]]))
  return {
    ...(members as Line),
    settled_at: toTimestamp(line.settledAtMs),
    net: formatAmount(parseAmount(line.amount) - parseAmount(line.adjusted)),
    tags: line.tags === null ? null : (JSON.parse(line.tags) as Readonly<Record<string, string>>),
  }
}

/** A page of lines, the newest first or in an order. @throws RequestError `query_too_long` for too many to sort */
export async function linesInOrder(
  db: Queryable,
  filter: LedgerFilter,
  page: {
    readonly after: string | undefined
    readonly limit: number
    readonly order?: LineOrder | undefined
  },
) {
  const { order, ...place } = page
  if (order === undefined) return listLines(db, filter, place)
  const found = await sortedLines(db, filter, { ...place, order })
  if (found !== undefined) return found
  const most = MAX_SORTED_LINES.toLocaleString('en')
  throw new RequestError(
    'query_too_long',
    `More than ${most} lines cannot be sorted by amount: narrow them by time, tenant_id, model or sku`,
    'sort',
  )
}
