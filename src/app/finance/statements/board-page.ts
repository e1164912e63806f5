import { type AccountGroup, accountGroups } from '../../../../projections/ledger/query.ts'
import { boardRows, factsNow, openingMonth, openRow } from './board.ts'
import { accountKey, type ClosingFacts } from './blockers.ts'
import type { PreviewDeps } from './preview.ts'
import {
  type BlockerCode,
  blockerCodes,
  type BoardPage,
  type BoardPart,
  boardParts,
  type Statements,
} from './types.ts'

/**
 * Pages of a board, for months of thousands of accounts: accounts of one state are counted together, and rows are
 * made of one page alone.
 */

type Input = Parameters<Statements['boardPage']>[0]

/** Accounts that are closed, ready, or blocked by the same. */
interface Counted {
  readonly group: AccountGroup
  readonly part: BoardPart
  readonly codes: readonly BlockerCode[]
}

function countedOf(group: AccountGroup, month: string, facts: ClosingFacts): readonly Counted[] {
  const [tenantId = ''] = group.tenantIds
  if (group.state !== null) return [{ group, part: 'closed', codes: [] }]
  const account = { ...group, tenantId }
  if (month < openingMonth(account)) return []
  const codes = openRow(account, month, facts).blockers.map(({ code }) => code)
  return [{ group, part: codes.length === 0 ? 'ready' : 'blocked', codes }]
}

const sizeOf = (all: readonly Counted[]): number =>
  all.reduce((sum, { group }) => sum + group.tenantIds.length, 0)

function countsOf(all: readonly Counted[]): BoardPage['counts'] {
  const count = (wanted: (one: Counted) => boolean): number => sizeOf(all.filter(wanted))
  const ofPart = (name: BoardPart): number => count(({ part }) => part === name)
  const blockers = blockerCodes.map((code) => {
    return { code, rows: count(({ codes }) => codes.includes(code)) }
  })
  return {
    blocked: ofPart('blocked'),
    ready: ofPart('ready'),
    closed: ofPart('closed'),
    voidProposed: count(({ group }) => group.state === 'void_proposed'),
    blockers: blockers.filter(({ rows }) => rows > 0),
  }
}

/** The accounts of a page, those that are blocked first. */
function accountsOfPage(shown: readonly Counted[], { skip, limit }: Input) {
  const accounts: { readonly tenantId: string; readonly currency: string }[] = []
  let passed = 0
  for (const name of boardParts) {
    const of = shown.filter(({ part }) => part === name)
    const size = sizeOf(of)
    const from = Math.max(0, skip - passed)
    const to = skip + limit - passed
    passed += size
    if (from >= size || to <= 0) continue
    // Tenants of a group are sorted: those behind the page are behind it in any case.
    const all = of.flatMap(({ group: { tenantIds, currency } }) =>
      tenantIds
        .slice(0, to)
        .map((tenantId) => ({ tenantId, currency, key: `${tenantId} ${currency}` })),
    )
    all.sort((a, b) => (a.key < b.key ? -1 : 1))
    accounts.push(...all.slice(from, to))
  }
  return accounts
}

/** A page of the board of a month, those that are blocked first, with counts of all. */
export async function boardPageOf(deps: PreviewDeps, input: Input): Promise<BoardPage> {
  const { month, tenantIds, currency, show } = input
  const facts = await factsNow(deps, tenantIds)
  const apart = [...facts.proposals.keys(), ...facts.spools.keys()]
  const groups = await accountGroups(deps.db, { month, tenantIds, currency, apart })
  const all = groups.flatMap((group) => countedOf(group, month, facts))
  const shown = all.filter(
    ({ part, codes }) => show === undefined || show === part || codes.some((code) => code === show),
  )
  const accounts = accountsOfPage(shown, input)
  const pageTenants = [...new Set(accounts.map(({ tenantId }) => tenantId))]
  const rows = await boardRows(deps, { month, tenantIds: pageTenants, currency }, facts)
  const byKey = new Map(rows.map((row) => [accountKey(row), row]))
  return {
    rows: accounts.flatMap((account) => byKey.get(accountKey(account)) ?? []),
    shown: sizeOf(shown),
    counts: countsOf(all),
  }
}
