import { type Static, Type } from 'typebox'
import { MonthMember } from '../../api/kit/routes/account-surface.ts'
import { readBoardPage } from '../../api/query/statements/list.ts'
import { NameOf } from '../../api/query/schemas.ts'
import { readZone, timeRangeMembers } from '../../api/query/time-range.ts'
import type { Principal } from '../../app/access/principal.ts'
import { blockerCodes, boardParts } from '../../app/finance/statements/types.ts'
import { monthBefore } from '../../domain/statement/periods.ts'
import { factsOrWords, type PanelFacts } from '../kit/panel.tsx'
import { type ConsoleServices, Unchanged } from '../page.tsx'
import type { LateFailures } from './late-failures.ts'
import { batchMembers, type Progress, progressOf } from './progress.ts'

/** Facts that the board of a month shows. */

export type Board = Awaited<ReturnType<typeof readBoardPage>>
export type Row = Board['items'][number]

/** Rows of a page. */
export const PAGE = 50

export const boardQuery = Type.Object({
  month: Type.Optional(MonthMember),
  show: Type.Optional(Type.Enum([...boardParts, ...blockerCodes])),
  tenant_id: NameOf('Only of this tenant.'),
  page: Type.Optional(Type.String({ pattern: '^[1-9]\\d{0,3}$', words: 'must be a number' })),
  tz: timeRangeMembers.tz,
  ...batchMembers,
})
export type BoardQuery = Static<typeof boardQuery>

export interface BoardFacts {
  readonly query: BoardQuery
  readonly month: string
  readonly board: PanelFacts<Board>
  /** How far the closes of the form are; undefined where none was sent. */
  readonly progress: Progress | undefined
  /** Why a close of a row failed after its form was answered. */
  readonly failures: LateFailures
}

/** The last month that is over in a zone. */
function lastMonth(tz: string | undefined, nowMs: number): string {
  return monthBefore(readZone(tz).dayAt(nowMs).slice(0, 7))
}

/** Reads a page of the board; unchanged, where a part asks and no close has ended since. */
export async function readBoard(
  services: ConsoleServices,
  who: Principal,
  asked: BoardQuery,
  failures: LateFailures,
): Promise<BoardFacts | Unchanged> {
  const nowMs = services.clock.nowMs()
  const { since: _since, ...query } = asked
  const { tz, tenant_id, show, page = '1', month = lastMonth(tz, nowMs) } = asked
  const skip = (Number(page) - 1) * PAGE
  const board = await factsOrWords(() =>
    readBoardPage(services, who, { month, tenant_id, show, skip, limit: PAGE }),
  )
  if (asked.sent === undefined || 'why' in board)
    return { query, month, board, progress: undefined, failures }
  const progress = progressOf(asked, board.facts.counts.ready, nowMs)
  return progress.isUnchanged ? new Unchanged() : { query, month, board, progress, failures }
}
