import { type Command, Option } from 'commander'
import { type FileHandle, open, rename, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { readCheckpoint } from '../../projections/engine/checkpoint.ts'
import type { Cells } from '../../projections/ledger/query.ts'
import { fileName } from '../api/kit/answers/files.ts'
import { RequestError } from '../api/kit/request-error.ts'
import { lineFile, type LineFormat, lineFormats, PARQUET } from '../api/query/line-files.ts'
import { billingOf, ledgerExports } from '../api/query/projection-reads.ts'
import { anyLines, type LedgerFilter, type LineExports } from '../api/query/reads.ts'
import { readTimeRange, readZone, type TimeRange } from '../api/query/time-range.ts'
import { lineFileColumns } from '../app/finance/line-files/columns.ts'
import { issuerName } from '../config.ts'
import { syncFolder } from '../platform/durable-files.ts'
import { boundHeapGrowth } from '../platform/v8-flags.ts'
import { type Currency, currencies } from '../kernel/money.ts'
import type { TimeZone } from '../kernel/time-zone.ts'
import { onStores, readModelsOf } from './command.ts'
import { messageOf } from './explain.ts'
import {
  CommandError,
  note,
  OutputClosedError,
  progress,
  UsageError,
  writePaced,
} from './output.ts'
import { readStatements } from './statements.ts'
import type { Session } from './session.ts'

const EXPORT_HELP = `
Writes every settled line, newest first, as of one position of the log, on stdout or to a file:

  csv      a table, with the refunds of each line, names and its hash
  ndjson   the same, a line of JSON for each
  focus    FOCUS 1.4: usage, the refunds of the time, and the credit that was granted in it
  parquet  the columns of csv with exact types, for DuckDB, Spark and others; at most ten million lines

A month, and a date of --from or --to, are those of --tz. --period has the lines that the statement of a closed month
has: also those of earlier dates that came too late for their month. The same --as-of gives the same lines again,
whatever was settled since: csv, ndjson and parquet have present names, and a FOCUS file is the same in full.

Progress, the position and the number of lines go to stderr. A file gets its name only when it is complete: what was
written before a failure is in FILE.partial. On stdout a failure leaves the lines that were written, says so, and the
exit code is 1.

Examples:
  tollgate export lines --tenant acme --month 2026-11 --tz Asia/Shanghai --out .
  tollgate export lines --tenant acme --format focus --month 2026-11 > focus.csv
  tollgate export lines --tenant acme --currency CNY --period 2026-11 --format parquet --out .
  tollgate export lines --format ndjson --from 2026-11-01 | jq -r .net`

/** Registers `tollgate export`. */
export function addExport(program: Command): void {
  program
    .command('export')
    .description('write the ledger to files')
    .command('lines')
    .description('write settled lines as CSV, NDJSON, FOCUS or Parquet')
    .option('--tenant <id>', 'one tenant; default: all tenants')
    .addOption(new Option('--format <format>', 'form').choices([...lineFormats]).default('csv'))
    .option('--month <month>', 'settled in this month, such as 2026-11')
    .option('--from <time>', 'settled from this date or RFC 3339 time, inclusive')
    .option('--to <time>', 'settled until this date or RFC 3339 time, exclusive')
    .option('--tz <zone>', 'time zone of months and dates, such as Asia/Shanghai; default: UTC')
    .addOption(new Option('--currency <currency>', 'in this currency').choices([...currencies]))
    .option('--period <month>', 'of this closed month of an account, the late lines too')
    .option('--as-of <position>', 'as of this position of the log; default: the current one')
    .option('--bom', 'begin with a byte order mark, by which spreadsheets know UTF-8')
    .option('--out <path>', 'a file, or a folder for a file named by tenant, range and position')
    .addHelpText('after', EXPORT_HELP)
    .action(onStores(exportLines))
}

interface ExportOptions {
  readonly tenant?: string
  readonly format: LineFormat
  readonly month?: string
  readonly from?: string
  readonly to?: string
  readonly tz?: string
  readonly currency?: Currency
  readonly period?: string
  readonly asOf?: string
  readonly bom?: boolean
  readonly out?: string
}

/** `tollgate export lines` */
async function exportLines(session: Session, options: ExportOptions): Promise<void> {
  const { format, bom: hasByteOrderMark } = options
  if (hasByteOrderMark && (format === 'ndjson' || format === 'parquet'))
    throw new UsageError(`--bom is for tables: ${format} has none`)
  if (format === 'parquet' && options.out === undefined && process.stdout.isTTY)
    throw new UsageError('parquet is not for a terminal: name a file or a folder with --out')
  const { filter, zone } = await filterOf(session, options)
  const shown = progress('lines')
  const { pool: db, log } = session
  const reads = { db, log, readModels: readModelsOf(session) }
  const counted = counting(ledgerExports(reads), shown.update)
  const file =
    format === 'parquet'
      ? parquetFile(counted.exports.lines(filter, {}))
      : textFile(
          lineFile(
            counted.exports,
            { format, filter, hasByteOrderMark },
            { ...billingOf(issuerName(session.config), reads), zone },
          ),
        )
  const facts = { name: format === 'focus' ? 'focus' : 'ledger-lines', zone, ...filter }
  const name = fileName({ ...facts, asOf: String(filter.asOf) }, file.extension)
  const target = options.out === undefined ? undefined : await targetOf(options.out, name)
  const done = (): string => `${counted.lines().toLocaleString('en')} lines`
  try {
    await (target === undefined ? file.writeTo(toStdout) : toFile(file, target))
  } catch (error) {
    shown.end()
    if (error instanceof OutputClosedError) throw error
    const rest = target === undefined ? '' : `; they are in ${target.partial}`
    throw new CommandError(`cut off after ${done()}${rest}: ${messageOf(error)}`, { cause: error })
  }
  shown.end()
  note(`${done()} as of position ${filter.asOf}${target === undefined ? '' : `: ${target.path}`}`)
}

type AskedLines = LedgerFilter & { readonly asOf: bigint }

/** The lines of an export, and the zone of its days. @throws UsageError, CommandError */
async function filterOf(
  session: Session,
  options: ExportOptions,
): Promise<{ readonly filter: AskedLines; readonly zone: TimeZone }> {
  const { tenant: tenantId, currency, tz, period } = options
  const of = { ...anyLines, tenantId, currency }
  if (period !== undefined) return closedMonth(session, { ...options, period }, of)
  const range = rangeOf(options)
  const asOf = await positionOf(session, options.asOf)
  return { filter: { ...of, ...range, asOf }, zone: readZone(tz) }
}

/** The lines of a closed month, which decides their times and the position. */
async function closedMonth(
  session: Session,
  { period: month, ...options }: ExportOptions & { readonly period: string },
  of: Omit<LedgerFilter, 'fromMs' | 'toMs' | 'asOf'>,
): Promise<{ readonly filter: AskedLines; readonly zone: TimeZone }> {
  for (const name of ['month', 'from', 'to', 'tz', 'asOf'] as const)
    if (options[name] !== undefined)
      throw new UsageError(`--${name === 'asOf' ? 'as-of' : name} cannot be combined with --period`)
  if (options.format === 'focus')
    throw new UsageError('FOCUS has billing periods of its own: use --month instead of --period')
  const { tenant: tenantId, currency } = options
  if (tenantId === undefined || currency === undefined)
    throw new UsageError('--period needs --tenant and --currency')
  await session.caughtUp('statements')
  const account = { tenantId, currency, month }
  const { bounds, timeZone } = await readStatements(session).statements.boundsOf(account)
  const { fromMs, toMs, asOf, since, late } = bounds
  const lateAfter = late > 0 ? since : undefined
  return { filter: { ...of, fromMs, toMs, asOf, lateAfter }, zone: readZone(timeZone) }
}

/** @throws UsageError */
function rangeOf({ month, from, to, tz }: ExportOptions): TimeRange {
  const zone = inCommand(() => readZone(tz))
  if (month === undefined)
    return inCommand(() =>
      readTimeRange({ ...(from && { from }), ...(to && { to }), ...(tz && { tz }) }, 0),
    )
  if (from !== undefined || to !== undefined)
    throw new UsageError('--month cannot be combined with --from or --to')
  if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month) || month < '1970-01' || month > '9998-12')
    throw new UsageError('--month must be a year and a month, such as 2026-11')
  return zone.monthAt(zone.startOf(`${month}-01`))
}

/** The failures of parameters as those of options: they have the same names. */
function inCommand<Read>(read: () => Read): Read {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof RequestError)) throw error
    throw new UsageError(`--${error.message}`)
  }
}

/** @throws CommandError for a position that the ledger has not reached */
async function positionOf({ pool, caughtUp }: Session, asked: string | undefined): Promise<bigint> {
  if (asked !== undefined && !/^(?:0|[1-9]\d{0,17})$/.test(asked))
    throw new UsageError('--as-of must be a position of the log, such as 928374655')
  let isCurrent = true
  for (const name of ['ledger', 'access', 'prices']) isCurrent &&= await caughtUp(name)
  const reached = (await readCheckpoint(pool, 'ledger'))?.position ?? 0n
  if (asked !== undefined && BigInt(asked) > reached)
    throw new CommandError(`the ledger has not reached --as-of ${asked}: it is at ${reached}`)
  if (asked === undefined && !isCurrent)
    note('the read models are behind the log: the latest settlements are not in this file')
  return asked === undefined ? reached : BigInt(asked)
}

/** Counts the lines of an export as they are read. */
function counting(exports: LineExports, onLines: (lines: number) => void) {
  let count = 0
  const lines: LineExports['lines'] = async function* lines(filter, page) {
    for await (const rows of exports.lines(filter, page)) {
      yield rows
      count += rows.length
      onLines(count)
    }
  }
  return { exports: { ...exports, lines }, lines: () => count }
}

/** Writes a piece of a file. Its bytes may change once it is written. */
type WritePiece = (piece: string | Uint8Array) => Promise<void>

interface ExportedFile {
  readonly extension: string
  readonly writeTo: (write: WritePiece) => Promise<unknown>
}

function textFile({ extension, pieces }: ReturnType<typeof lineFile>): ExportedFile {
  const writeTo = async (write: WritePiece): Promise<void> => {
    for await (const piece of pieces) await write(piece)
  }
  return { extension, writeTo }
}

/** Lines of a file of Parquet: its end, which is in memory, grows with them. */
const MAX_PARQUET_LINES = 10_000_000

function parquetFile(pages: AsyncIterable<readonly Cells[]>): ExportedFile {
  return {
    extension: PARQUET.extension,
    writeTo: async (write) => {
      // Other commands, and a gateway, do not load it.
      const { writeParquet } = await import('../app/finance/line-files/parquet.ts')
      // Row groups come and go: the heap would grow to a multiple of one.
      boundHeapGrowth()
      await writeParquet(write, lineFileColumns, pages, MAX_PARQUET_LINES)
    },
  }
}

/** Bytes are copied: a pipe takes them later. */
const toStdout: WritePiece = (piece) =>
  writePaced(typeof piece === 'string' ? piece : Uint8Array.from(piece))

interface Target {
  readonly path: string
  /** The name of the file until it is complete. */
  readonly partial: string
  readonly file: FileHandle
}

/** Opens the file of `--out`, which may name its folder. @throws CommandError where it cannot be written */
async function targetOf(out: string, name: string): Promise<Target> {
  const given = resolve(out)
  const isFolder = (await stat(given).catch(() => undefined))?.isDirectory() ?? false
  const path = isFolder ? join(given, name) : given
  const partial = `${path}.partial`
  const file = await open(partial, 'w', 0o600).catch((error: unknown) => {
    throw new CommandError(`${partial} cannot be written: ${messageOf(error)}`)
  })
  return { path, partial, file }
}

/** Writes a file that has its name only when it is complete. */
async function toFile(exported: ExportedFile, { path, partial, file }: Target): Promise<void> {
  try {
    await exported.writeTo((piece) => file.writeFile(piece))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(partial, path)
  await syncFolder(dirname(path))
}
