import type { Command } from 'commander'
import {
  type Blocker,
  type BoardRow,
  type PassableCode,
  passableCodes,
  type PeriodOf,
  type StatementContext,
  type Statements,
} from '../app/finance/statements/types.ts'
import { monthAfter } from '../domain/statement/periods.ts'
import { isDomainError } from '../kernel/errors.ts'
import { currencies, type Currency } from '../kernel/money.ts'
import { actorOf } from './actor.ts'
import { type ActorOption, also, changing, oneOf, onStores } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { note, print, progress, table, toJson, UsageError } from './output.ts'
import type { Session } from './session.ts'
import { withStatements } from './statements.ts'

const CLOSE_HELP = `
A closed month has a numbered statement, and never changes: what comes later is in the next month. Months are those of the
billing profile of the tenant, and are closed in their order, once their grace hours are over. An account that cannot be
closed stays open; its row says why, and the exit code is 1. The same command again goes on where it was.

  --all      every account of the month that is ready, one after the other
  --until    every month of one tenant up to this one, for a tenant that was never closed
  --preview  the figures as they would be now; nothing is closed
  --despite  closes although the last audit is old or found something: ${passableCodes.join(', ')}. The event has the reason

Examples:
  tollgate close --month 2026-11 --all
  tollgate close --tenant acme --month 2026-11 --currency CNY --preview
  tollgate close --tenant acme --until 2026-11
  tollgate close --tenant acme --month 2026-11 --despite audit_old --reason 'the audit runs tonight'`

interface CloseOptions extends ActorOption {
  readonly tenant?: string
  readonly month?: string
  readonly all?: boolean
  readonly until?: string
  readonly preview?: boolean
  readonly currency?: string
  readonly despite: readonly string[]
  readonly reason?: string
  readonly json?: boolean
}

/** Registers `tollgate close`. */
export function addClose(program: Command): void {
  changing(program.command('close'))
    .description('close a month of accounts, which issues their statements')
    .option('--tenant <id>', 'one tenant')
    .option('--month <month>', 'the month, such as 2026-11')
    .option('--all', 'every account that is ready')
    .option('--until <month>', 'every month of the tenant up to this one')
    .option('--preview', 'show the figures, and close nothing')
    .option('--currency <currency>', `${currencies.join(' or ')}; default: both`)
    .option('--despite <code>', `${passableCodes.join(' or ')}; may be repeated`, also, [])
    .option('--reason <text>', 'why it is closed despite that')
    .addHelpText('after', CLOSE_HELP)
    .action(onStores(closeCommand))
}

const monthForm = /^2\d{3}-(?:0[1-9]|1[0-2])$/

interface AskedClose {
  readonly month: string
  readonly isUntil: boolean
  readonly tenantId: string | undefined
  readonly currency: Currency | undefined
  readonly despite: readonly PassableCode[]
  readonly reason: string | undefined
}

/** @throws UsageError */
function readOptions(options: CloseOptions): AskedClose {
  const { tenant: tenantId, month, until, all = false, preview = false } = options
  const currency = oneOf('--currency', currencies, options.currency)
  const despite = options.despite.flatMap((code) => oneOf('--despite', passableCodes, code) ?? [])
  const reason = options.reason?.trim()
  if ((month === undefined) === (until === undefined))
    throw new UsageError('give either --month or --until')
  if (until !== undefined && tenantId === undefined)
    throw new UsageError('--until is for one tenant: give --tenant')
  if (until !== undefined && preview)
    throw new UsageError('--preview is of one month: give --month')
  if (month !== undefined && (tenantId === undefined) !== all)
    throw new UsageError('give either --tenant or --all')
  if ((despite.length === 0) !== (reason === undefined || reason === ''))
    throw new UsageError('--despite and --reason are given together')
  const wanted = month ?? until ?? ''
  if (!monthForm.test(wanted))
    throw new UsageError(
      `${month === undefined ? '--until' : '--month'} must be a year and a month, such as 2026-11`,
    )
  return { month: wanted, isUntil: month === undefined, tenantId, currency, despite, reason }
}

/** A row of the result. */
interface Row {
  readonly month: string
  readonly tenant_id: string
  readonly currency: Currency
  readonly status: 'closed' | 'open' | 'preview'
  readonly statement: string | null
  readonly opening: string | null
  readonly closing: string | null
  readonly postings: number | null
  readonly blockers: readonly Blocker[]
}

type Account = Pick<BoardRow, 'tenantId' | 'currency' | 'month'>

function openRow({ tenantId, currency, month }: Account, blockers: readonly Blocker[]): Row {
  const none = { statement: null, opening: null, closing: null, postings: null }
  return { month, tenant_id: tenantId, currency, status: 'open', ...none, blockers }
}

type Listed = Omit<PeriodOf, 'sums' | 'refunds'>

function periodRow(
  { tenantId, currency, month, opening, closing, postings, ...period }: Listed,
  status: 'closed' | 'preview',
  blockers: readonly Blocker[] = [],
): Row {
  const statement = status === 'closed' ? period.statement : null
  const figures = { statement, opening, closing, postings }
  return { month, tenant_id: tenantId, currency, status, ...figures, blockers }
}

/** The blockers of a refused close; undefined for any other failure. */
function blockersOf(error: unknown): readonly Blocker[] | undefined {
  if (!isDomainError(error, 'period_blocked')) return undefined
  const { blockers } = error.details
  return Array.isArray(blockers) ? (blockers as readonly Blocker[]) : []
}

/** Closes a month that nothing but `despite` blocks. */
async function closeRow(
  statements: Statements,
  row: BoardRow,
  { despite, reason }: AskedClose,
  context: StatementContext,
): Promise<Row> {
  if (row.status === 'closed') return periodRow(row.period, 'closed')
  const passed = new Set<string>(despite)
  if (row.blockers.some(({ code }) => !passed.has(code))) return openRow(row, row.blockers)
  const { tenantId, currency, month } = row
  const input = { tenantId, currency, month, despite, reason }
  try {
    return periodRow((await statements.close(input, context)).period, 'closed')
  } catch (error) {
    const blockers = blockersOf(error)
    if (blockers === undefined) throw error
    return openRow(row, blockers)
  }
}

async function previewRow(statements: Statements, row: BoardRow): Promise<Row> {
  if (row.status === 'closed') return periodRow(row.period, 'closed')
  // Figures begin with the closing balance of the month before.
  if (row.blockers.some(({ code }) => code === 'previous_open')) return openRow(row, row.blockers)
  const { period, blockers } = await statements.preview(row)
  return periodRow(period, 'preview', blockers)
}

/** Closes the months of one account in their order, up to the first that is blocked. */
async function* untilMonth(
  statements: Statements,
  account: Account,
  { month: until, despite, reason }: AskedClose,
  context: StatementContext,
): AsyncGenerator<Row> {
  const { tenantId, currency } = account
  const input = { tenantId, currency, until, despite, reason }
  let last: string | undefined
  try {
    for await (const period of statements.closeUntil(input, context)) {
      last = period.month
      yield periodRow(period, 'closed')
    }
  } catch (error) {
    const blockers = blockersOf(error)
    if (blockers === undefined) throw error
    const next = last === undefined ? account.month : monthAfter(last)
    yield openRow({ ...account, month: next }, blockers)
    return
  }
  if (last === undefined) note(`${tenantId} ${currency}: nothing was left to close up to ${until}`)
}

async function* resultsOf(
  statements: Statements,
  asked: AskedClose,
  isPreview: boolean,
  { context, begins }: { context: StatementContext; begins: (account: Account) => void },
): AsyncGenerator<Row> {
  const { month, tenantId, currency } = asked
  const tenantIds = tenantId === undefined ? undefined : [tenantId]
  const rows = await statements.board({ month, tenantIds, currency })
  if (rows.length === 0) note(`there is no account in ${month}`)
  for (const row of rows) {
    begins(row)
    if (asked.isUntil) yield* untilMonth(statements, row, asked, context)
    else if (isPreview) yield previewRow(statements, row)
    else yield closeRow(statements, row, asked, context)
  }
}

/** A month of a million postings takes half a minute: the account is named meanwhile. */
const PROGRESS_EVERY_MS = 500

/** `tollgate close` */
async function closeCommand(session: Session, options: CloseOptions): Promise<void> {
  const asked = readOptions(options)
  const context = { correlationId: 'cli', actor: actorOf(options.actor), by: undefined }
  // Without a running gateway the read models are brought up to date now.
  for (const name of ['ledger', 'access', 'proposals', 'statements']) await session.caughtUp(name)
  const rows: Row[] = []
  const shown = progress('months')
  let at = ''
  const shows = setInterval(() => shown.update(rows.length, at), PROGRESS_EVERY_MS)
  const begins = ({ tenantId, currency, month }: Account): void => {
    at = `${tenantId} ${currency} ${month}`
  }
  try {
    await withStatements(session, async (statements) => {
      const how = { context, begins }
      for await (const row of resultsOf(statements, asked, options.preview === true, how))
        rows.push(row)
    })
  } finally {
    clearInterval(shows)
    shown.end()
    // The accounts before a failure are closed, and their numbers are on no other output.
    show(rows, asked, options.json)
  }
  if (rows.some(({ status }) => status === 'open')) process.exitCode = exitCodes.failed
}

function show(rows: readonly Row[], { isUntil }: AskedClose, json: boolean | undefined): void {
  if (json) return print(toJson({ items: rows }))
  if (rows.length === 0) return
  const months = (month: string): readonly string[] => (isUntil ? [month] : [])
  const cells = rows.map((row) => [
    row.tenant_id,
    row.currency,
    ...months(row.month),
    row.statement ?? '',
    row.opening ?? '',
    row.closing ?? '',
    row.postings === null ? '' : String(row.postings),
    stateOf(row),
  ])
  const figures = ['statement', 'opening', 'closing', 'postings', 'state']
  for (const line of table(['tenant', 'currency', ...months('month'), ...figures], cells))
    print(line)
}

/** The state of a month in words: `open: 2 proposals wait; the last audit is 31 h old`. */
function stateOf({ status, blockers }: Row): string {
  if (blockers.length === 0) return status
  return `${status}: ${blockers.map(({ message }) => message).join('; ')}`
}
