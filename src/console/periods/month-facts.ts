import { type Static, Type } from 'typebox'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import type { Principal } from '../../app/access/principal.ts'
import { readLines } from '../../api/query/ledger.ts'
import type {
  FoundStatement,
  VoidedStatement,
} from '../../app/finance/statements/document/documents.ts'
import type { StatementSource } from '../../app/finance/statements/document/source.ts'
import type {
  Blocker,
  BoardRow,
  ListedPeriod,
  MonthOf,
} from '../../app/finance/statements/types.ts'
import { type PanelFacts, panelFacts } from '../kit/panel.tsx'
import { type ConsoleServices, Unchanged } from '../page.tsx'
import type { Line } from '../kit/lines.tsx'
import type { LateFailures } from './late-failures.ts'
import { monthNamed, noSuchMonth } from './names.ts'
import { type Progress, progressMembers, progressOf } from './progress.ts'

/** Facts of the page of one month: its statement, or the figures as the statement will have them. */

/** Late lines that the page shows; the files of the closed month have all of them. */
export const MAX_LATE_LINES = 20

export const monthQuery = Type.Object({
  tz: timeRangeMembers.tz,
  ...progressMembers,
  /** `before`: the form found the month closed. */
  found: Type.Optional(Type.Enum(['closed'])),
})
export type MonthQuery = Static<typeof monthQuery>

interface Closed {
  readonly kind: 'closed'
  readonly period: ListedPeriod
  readonly statement: FoundStatement
  /** Whether a later month stands: only the last one can be void. */
  readonly isLast: boolean
}

interface Open {
  readonly kind: 'open'
  readonly blockers: readonly Blocker[]
  /** Undefined where an earlier month is open: this one has no figures yet. */
  readonly preview: PanelFacts<StatementSource> | undefined
  /** Why the last close failed after its form was answered. */
  readonly failure: string | undefined
}

export interface MonthFacts {
  readonly of: MonthOf
  readonly query: MonthQuery
  readonly state: Closed | Open
  /** Statements of the month that are void, the first one first. */
  readonly voided: readonly VoidedStatement[]
  /** Lines that are dated before the month, newest first, some of many; undefined where there are none. */
  readonly lateLines: PanelFacts<readonly Line[]> | undefined
  /** Months of the account before and after this one. */
  readonly before: string | undefined
  readonly after: string | undefined
  /** The statement of the month before, where it is proposed to be void: a close of this one prevents that. */
  readonly voidBefore: string | undefined
  /** How far the close of the form is; undefined where none was sent. */
  readonly progress: Progress | undefined
  /** Public keys of statements. */
  readonly keys: readonly string[]
}

/** The statement of a month, or what it would be. */
function sourceOf(state: Closed | Open): StatementSource | undefined {
  if (state.kind === 'closed') return state.statement.source
  return state.preview !== undefined && 'facts' in state.preview ? state.preview.facts : undefined
}

/** Lines that the ledger has had only since the month before was closed, and that are dated before this month. */
async function lateLinesOf(
  services: ConsoleServices,
  who: Principal,
  state: Closed | Open,
  before: BoardRow | undefined,
): Promise<MonthFacts['lateLines']> {
  const period = sourceOf(state)?.period
  if (period === undefined || period.late === 0 || before?.status !== 'closed') return undefined
  const query = {
    tenant_id: period.tenantId,
    currency: period.currency,
    to: period.from,
    since: before.period.position,
    as_of: period.position,
    limit: MAX_LATE_LINES,
  }
  return panelFacts(who, ['finance'], async () => {
    const { page } = await readLines(services, who, query)
    return (await page()).items
  })
}

async function stateOf(
  services: ConsoleServices,
  who: Principal,
  of: MonthOf,
  { row, isLast, failures }: { row: BoardRow; isLast: boolean; failures: LateFailures },
): Promise<Closed | Open> {
  const { documents } = services.queries.statements
  if (row.status === 'closed') {
    const statement = await documents.find(of)
    return { kind: 'closed', period: row.period, statement, isLast }
  }
  const { blockers } = row
  const isNext = blockers.every(({ code }) => code !== 'previous_open')
  return {
    kind: 'open',
    blockers,
    preview: isNext ? await panelFacts(who, ['finance'], () => documents.preview(of)) : undefined,
    failure: failures.wordsFor(of),
  }
}

const voidIn = (row: BoardRow | undefined): string | undefined =>
  row?.status === 'closed' && row.isVoidProposed ? row.period.statement : undefined

/** Reads a month; unchanged, where a part asks for it and it is still being closed. */
export async function readMonth(
  services: ConsoleServices,
  who: Principal,
  { id, query: asked }: { readonly id: string; readonly query: MonthQuery },
  failures: LateFailures,
): Promise<MonthFacts | Unchanged> {
  const of = monthNamed(who, id)
  const { since: _since, ...query } = asked
  const rows = await services.queries.statements.months(of)
  const at = rows.findIndex(({ month }) => month === of.month)
  const row = rows[at]
  if (row === undefined) throw noSuchMonth(of)
  const failure = failures.wordsFor(of)
  const isLeft = row.status === 'open' && failure === undefined
  const progress =
    asked.sent === undefined ? undefined : progressOf(asked, isLeft ? 1 : 0, services.clock.nowMs())
  if (progress?.isUnchanged === true) return new Unchanged()
  const isLast = rows[at + 1]?.status !== 'closed'
  const [state, voided, keys] = await Promise.all([
    stateOf(services, who, of, { row, isLast, failures }),
    services.queries.statements.documents.voided(of),
    services.accounts.issuer.keys(),
  ])
  return {
    of,
    query,
    state,
    voided,
    lateLines: await lateLinesOf(services, who, state, rows[at - 1]),
    before: rows[at - 1]?.month,
    after: rows[at + 1]?.month,
    voidBefore: voidIn(rows[at - 1]),
    progress,
    keys,
  }
}
