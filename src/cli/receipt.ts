import type { Command } from 'commander'
import { RequestError } from '../api/kit/request-error.ts'
import type { Receipt } from '../app/finance/receipts/types.ts'
import { toTimestamp } from '../kernel/clock.ts'
import type { TimeZone } from '../kernel/time-zone.ts'
import { CommandError, print, table, toJson } from './output.ts'
import { parsePosition, parseZone } from './replay/moment.ts'
import { inOptions, servicesOf } from './report.ts'
import type { Session } from './session.ts'
import { JSON_OPTION, onStores } from './command.ts'

const RECEIPT_HELP = `
The id is that of a call or its answer ("chatcmpl-…"), a task (platform or native), the request that began
either ("x-request-id" of any answer), or a line of the ledger (line_id). Each line is calculated to its last digit, with its hash in the
ledger's chain; adjustments and the timeline follow.

The exit code is 1 if nothing is found.`

/** Registers `tollgate receipt`. */
export function addReceipt(program: Command): void {
  program
    .command('receipt')
    .description('show what a task or a call cost, and why')
    .argument('<id>', 'id of a call, a task, a request or a ledger line')
    .option('--tenant <id>', 'only if it belongs to this tenant')
    .option('--as-of <position>', 'as of this position of the log; default: the current one')
    .option('--tz <zone>', 'IANA time zone of the times; default: UTC')
    .option(...JSON_OPTION)
    .addHelpText('after', RECEIPT_HELP)
    .action(onStores(receiptCommand))
}

interface ReceiptOptions {
  readonly tenant?: string
  readonly asOf?: string
  readonly tz?: string
  readonly json?: boolean
}

/** Letters of a hash that a table shows; `--json` has all of it. */
const HASH_SHOWN = 12

/** `tollgate receipt`: what a task or a call cost, and why. @throws CommandError where there is nothing */
async function receiptCommand(
  session: Session,
  id: string,
  options: ReceiptOptions,
): Promise<void> {
  const zone = options.tz === undefined ? undefined : parseZone(options.tz)
  const receipt = await read(session, id, options)
  if (receipt === undefined) throw new CommandError(`nothing was found for ${id}`)
  if (options.json) return print(toJson(receipt))
  for (const line of textOf(receipt, zone)) print(line)
}

/** @throws CommandError where the read models are behind, or the log has no such position */
async function read(
  session: Session,
  id: string,
  { tenant: tenantId, asOf }: ReceiptOptions,
): Promise<Receipt | undefined> {
  if (!(await session.caughtUp('ledger')) || !(await session.caughtUp('timeline')))
    throw new CommandError('the read models are behind the log: try again in a moment')
  const { reads } = servicesOf(session).queries
  const position = asOf === undefined ? undefined : parsePosition('--as-of', asOf)
  return reads.receipt(id, { tenantId, userIds: undefined }, position).catch((error: unknown) => {
    throw error instanceof RequestError ? inOptions(error) : error
  })
}

/** A receipt for people, line by line, with times of a zone; undefined: UTC's. */
export function textOf(receipt: Receipt, zone?: TimeZone): readonly string[] {
  const timeOf = (unixMs: number): string => zone?.timestampAt(unixMs) ?? toTimestamp(unixMs)
  const { currency = '', held } = receipt
  const facts: readonly (readonly [name: string, value: string | undefined])[] = [
    [receipt.kind, receipt.sourceId],
    ['native id', receipt.nativeId],
    ['model', receipt.model],
    ['surface', receipt.surface],
    ['tenant', `${receipt.tenantId}, ${receipt.userId}, ${receipt.tokenId}`],
    ['request', receipt.requestId],
    ['tags', receipt.tags && wordsOf(receipt.tags)],
    ['end user', receipt.endUser],
    ['price book', receipt.priceBookVersion],
    ['as of', receipt.asOf],
    ['held', held === '0' ? undefined : `${held} ${currency}`],
  ]
  const known = facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  const width = Math.max(...known.map(([name = '']) => name.length))
  return [
    receipt.verdict,
    '',
    ...known.map(([name = '', value = '']) => `${name.padEnd(width)}  ${value}`),
    ...section(
      ['line', 'sku', `quantity × price ÷ per = ${currency}`, 'unit', 'how', 'price of', 'hash'],
      receipt.lines.map((line) => [
        line.lineId.slice(receipt.sourceId.length + 1),
        line.sku,
        line.formula,
        line.unit,
        line.measurement,
        line.accountPrices === null ? 'book' : `account ${line.accountPrices}`,
        line.hash.slice(0, HASH_SHOWN),
      ]),
    ),
    ...section(
      ['refund', 'of line', 'amount', 'posted', 'by', 'reason'],
      receipt.corrections.map((one) => [
        one.adjustmentId,
        one.lineId.slice(receipt.sourceId.length + 1),
        one.amount,
        timeOf(one.postedAtMs),
        one.actor ?? '',
        one.reason,
      ]),
    ),
    ...section(
      [zone === undefined ? 'time (utc)' : 'time (local)', 'step'],
      receipt.timeline.map(({ atMs, type }) => [timeOf(atMs), type]),
    ),
  ]
}

function wordsOf(tags: NonNullable<Receipt['tags']>): string {
  return Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ')
}

/** A table under an empty line; nothing without rows. */
function section(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  return rows.length === 0 ? [] : ['', ...table(columns, rows)]
}
