import type { Command } from 'commander'
import { csvOf } from '../api/kit/answers/lists.ts'
import { readsOver } from '../api/query/projection-reads.ts'
import {
  type ReportKind,
  reportKinds,
  type ReportList,
  type ReportRow,
  type NamedReportServices,
} from '../api/query/reports.ts'
import { RequestError } from '../api/kit/request-error.ts'
import type { Principal } from '../app/access/principal.ts'
import { readSettings } from '../app/accounts/account-facts.ts'
import { issuerName } from '../config.ts'
import { catalog } from '../families/index.ts'
import { systemClock } from '../kernel/clock.ts'
import { LIST_LIMIT, onStores, readModelsOf } from './command.ts'
import { CommandError, note, print, table, toJson, UsageError, writePaced } from './output.ts'
import type { Session } from './session.ts'
import { readStatements } from './statements.ts'

const REPORT_HELP = `
Each report is the one of the same name under /api/query/v1, with the same parameters, over all tenants or one. A table
shows the columns that have something in them, and at most ${LIST_LIMIT} rows; CSV has all columns and all rows. JSON is one
page as the API answers it, the first or the one that --cursor or --page asks for.

Examples:
  tollgate report usage --tenant acme --group-by model,user --time-preset last_month --tz Asia/Shanghai
  tollgate report movements --tenant acme --currency CNY --from 2026-11-01 --to 2026-12-01
  tollgate report balance --tenant acme --at 2026-12-01 --tz Asia/Shanghai
  tollgate report adjustments --since 928374655 --format csv > new.csv`

/** HTTP alone takes these: a command has other formats, and only a running gateway names its surfaces. */
const ofHttp: ReadonlySet<string> = new Set(['format', 'bom', 'surface'])

const formats = ['table', 'csv', 'json'] as const
type Format = (typeof formats)[number]

/** A parameter is the option of its name, without the `id` of things that other commands name so. */
const optionOf = (parameter: string): string =>
  `--${parameter.replace(/^(tenant|user|token|task)_id$/, '$1').replaceAll('_', '-')}`

const kinds = reportKinds(catalog, [])

/** Registers `tollgate report …`. */
export function addReport(program: Command): void {
  const group = program.command('report').description('reports of finance')
  group.addHelpText('after', REPORT_HELP)
  for (const kind of kinds) {
    const command = group.command(kind.name).description(kind.summary)
    for (const [name, rule] of parametersOf(kind)) {
      const flag = `${optionOf(name)} <value>`
      const words = wordsOf(rule)
      if (name === 'tag')
        command.option(flag, words, (tag, tags?: string[]) => [...(tags ?? []), tag])
      else command.option(flag, words)
    }
    command
      .option('--format <format>', `${formats.join(', ')}; default: table`)
      .option('--columns <names>', 'columns of the table, with commas between')
      .action(onStores((session, options: Options) => reportCommand(session, kind, options)))
  }
}

interface ParameterRule {
  readonly description?: string
  readonly enum?: readonly string[]
  /** The rule as documents show it, where it is another. */
  readonly documented?: { readonly description?: string }
}

/** Describes an option by its parameter, whose description is a sentence. */
function wordsOf({ description, documented, enum: values }: ParameterRule): string {
  const words = (description ?? documented?.description ?? '').replace(/\.$/, '')
  const said = words.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase())
  return values === undefined ? said : `${said}: ${values.join(', ')}`
}

function parametersOf({ query }: ReportKind): readonly (readonly [string, ParameterRule])[] {
  return Object.entries(query.properties as Readonly<Record<string, ParameterRule>>).filter(
    ([name]) => !ofHttp.has(name),
  )
}

interface ReportOptions {
  readonly format?: Format
  readonly columns?: string
}

type Options = ReportOptions & Readonly<Record<string, unknown>>

/** `tollgate report usage`, and every other kind. */
async function reportCommand(session: Session, kind: ReportKind, options: Options): Promise<void> {
  const { format = 'table', columns } = options
  if (!formats.includes(format))
    throw new UsageError(`--format must be one of ${formats.join(', ')}`)
  if (columns !== undefined && format !== 'table')
    throw new UsageError('--columns is for tables: csv and json have all')
  const asked = Object.fromEntries(
    parametersOf(kind).flatMap(([name]) => {
      const value = options[memberOf(optionOf(name))]
      return value === undefined ? [] : [[name, value]]
    }),
  )
  await showReport(session, kind, asked, (list) => shown(list, format, columns?.split(',')))
}

/** Reads a report by its parameters and shows it; a failure names the option of the faulty one. */
async function showReport(
  session: Session,
  kind: ReportKind,
  asked: ReportRow,
  show: (list: ReportList) => Promise<void>,
): Promise<void> {
  const behind: string[] = []
  for (const name of ['ledger', 'access', 'timeline', 'tasks', 'statements'])
    if (!(await session.caughtUp(name))) behind.push(name)
  if (behind.length > 0)
    note(`${behind.join(', ')}: behind the log, the latest events are not in this report`)
  try {
    await show(await kind.read(servicesOf(session), operator, asked))
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    throw inOptions(error)
  }
}

/** Shows a report as a table with these columns, for a command that has few options. */
export async function showTable(
  session: Session,
  name: string,
  asked: ReportRow,
  table: {
    readonly columns: readonly string[]
    /** A cell that is made of others. */
    readonly add?: (row: ReportRow) => ReportRow
  },
): Promise<void> {
  const kind = kinds.find((one) => one.name === name)
  if (kind === undefined) throw new Error(`there is no report ${name}`)
  const { columns, add = () => ({}) } = table
  await showReport(session, kind, asked, (list) => {
    const rows = async function* rows() {
      for await (const page of list.rows()) yield page.map((row) => ({ ...row, ...add(row) }))
    }
    return shown(
      { ...list, rows, columns: [...new Set([...list.columns, ...columns])] },
      'table',
      columns,
    )
  })
}

/** A refused request as the failure of a command, which names the option of a faulty parameter. */
export function inOptions(error: RequestError): CommandError {
  const { param, message } = error
  if (param === undefined) return refusedAs(message, error)
  const option = optionOf(param)
  const words = message.startsWith(param) ? message.slice(param.length) : `: ${message}`
  return refusedAs(`${option}${words}`, error)
}

/** A refused request as a failure with these words: a faulty parameter is a wrong use of the command. */
export function refusedAs(words: string, cause: RequestError): CommandError {
  const Failure = cause.fault === 'parameter_invalid' ? UsageError : CommandError
  return new Failure(words, { cause })
}

/** The name that commander gives to the value of an option. */
const memberOf = (option: string): string =>
  option.slice(2).replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** An operator at a shell may read everything. */
export const operator: Principal = {
  tokenId: '',
  kind: 'query',
  tenantId: '',
  userId: '',
  models: undefined,
  addresses: undefined,
  limits: undefined,
  role: undefined,
  scope: { level: 'all_tenants' },
}

/** The reads of reports, over the stores of a command. */
export function servicesOf(session: Session): NamedReportServices {
  const { pool: db, log, config } = session
  const clock = systemClock
  const logEnd = () => log.endPosition()
  const queries = readsOver({
    db,
    log,
    logEnd,
    readModels: readModelsOf({ pool: db, log }),
    // A command holds no funds.
    funds: { report: () => Promise.resolve() },
    catalog,
    clock,
    served: [],
    issuer: issuerName(config),
    settingsOf: (tenantId) => readSettings({ log, db }, tenantId),
    ...readStatements(session),
    lineFiles: { parquet: () => Promise.reject(new Error('a command writes files itself')) },
  })
  return { queries, clock, models: { catalog }, http: { endpoints: {} } }
}

async function shown(
  list: ReportList,
  format: Format,
  columns: readonly string[] | undefined,
): Promise<void> {
  if (format === 'csv') {
    for await (const piece of csvOf(list, false)) await writePaced(piece)
    return
  }
  const page = await list.page()
  if (format === 'json') return print(toJson(page))
  const wanted = columns ?? list.columns
  const unknown = wanted.find((name) => !list.columns.includes(name))
  if (unknown !== undefined)
    throw new UsageError(`there is no column ${unknown}; there are ${list.columns.join(', ')}`)
  const { rows, isAll } = await firstRows(list)
  const cells = rows.map((row) => wanted.map((name) => cellOf(row[name])))
  const filled = wanted.flatMap((_, n) =>
    columns !== undefined || cells.some((row) => row[n] !== '') ? [n] : [],
  )
  const pick = (row: readonly string[]): readonly string[] => filled.map((n) => row[n] ?? '')
  if (rows.length > 0) for (const line of table(pick(wanted), cells.map(pick))) print(line)
  else note('no rows')
  for (const fact of factsOf(page)) note(fact)
  if (!isAll) note(`there are more than ${LIST_LIMIT} rows: --format csv has all`)
}

async function firstRows(list: ReportList) {
  const rows: ReportRow[] = []
  for await (const page of list.rows()) {
    rows.push(...page.slice(0, LIST_LIMIT - rows.length + 1))
    if (rows.length > LIST_LIMIT) break
  }
  return { rows: rows.slice(0, LIST_LIMIT), isAll: rows.length <= LIST_LIMIT }
}

/** Facts about a whole report, which are in no row of it. */
const wholeFacts = ['opening', 'closing', 'as_of'] as const

function factsOf(page: object): readonly string[] {
  return wholeFacts.flatMap((name) => {
    const value: unknown = Reflect.get(page, name)
    return typeof value === 'string' ? [`${name.replace('_', ' ')}: ${value}`] : []
  })
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : toJson(value)
}
