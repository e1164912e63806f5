import { boardOf } from './board.ts'
import type { PreviewDeps } from './preview.ts'
import {
  blockerCodes,
  type BoardPage,
  type BoardPart,
  boardParts,
  type BoardRow,
  type Statements,
} from './types.ts'

/** Pages of a board, for months of thousands of accounts. */

function partOf(row: BoardRow): BoardPart {
  if (row.status === 'closed') return 'closed'
  return row.blockers.length === 0 ? 'ready' : 'blocked'
}

function countsOf(rows: readonly BoardRow[]): BoardPage['counts'] {
  const parts = { blocked: 0, ready: 0, closed: 0 }
  const blockers = new Map<string, number>()
  let voidProposed = 0
  for (const row of rows) {
    parts[partOf(row)] += 1
    if (row.status === 'closed') voidProposed += row.isVoidProposed ? 1 : 0
    else for (const { code } of row.blockers) blockers.set(code, (blockers.get(code) ?? 0) + 1)
  }
  const found = blockerCodes.map((code) => ({ code, rows: blockers.get(code) ?? 0 }))
  return { ...parts, voidProposed, blockers: found.filter((one) => one.rows > 0) }
}

/** A page of the board of a month, those that are blocked first, with counts of all. */
export async function boardPageOf(
  deps: PreviewDeps,
  { show, skip, limit, ...of }: Parameters<Statements['boardPage']>[0],
): Promise<BoardPage> {
  const all = await boardOf(deps, of)
  const isShown = (row: BoardRow): boolean =>
    show === undefined ||
    show === partOf(row) ||
    (row.status === 'open' && row.blockers.some(({ code }) => code === show))
  const shown = all.filter(isShown)
  const ordered = boardParts.flatMap((part) => shown.filter((row) => partOf(row) === part))
  return { rows: ordered.slice(skip, skip + limit), shown: shown.length, counts: countsOf(all) }
}
