import type { AdjustedLine, LineRefund } from '../../../../projections/ledger/query.ts'
import type { SettlementLine } from '../../../domain/pricing/settlement.ts'
import { type ExpiryCatalog, latestEndMs } from '../../../domain/catalog/latest-end.ts'
import type { RecordedEvent } from '../../../eventlog/log/types.ts'
import { fromTimestamp, toTimestamp } from '../../../kernel/clock.ts'
import { formatAmount, parseAmount } from '../../../kernel/money.ts'
import { type Opening, type ReceiptStatus, receiptStatusOf } from './status.ts'
import type { Receipt, ReceiptLine } from './types.ts'
import { receiptVerdictOf } from './verdict.ts'

/** The data of a receipt. */
interface ReceiptParts {
  readonly opening: Opening
  /** All events of the task or call, oldest first. */
  readonly events: readonly RecordedEvent[]
  readonly nativeId: string | undefined
  readonly lines: readonly AdjustedLine[]
  /**
   * Refunds of these lines, oldest first; `adjusted` of a line includes refunds that are
   * not listed.
   */
  readonly corrections: readonly LineRefund[]
  readonly catalog: ExpiryCatalog
  /** Position of the log that all of these are as of. */
  readonly asOf: bigint
}

/** Time at which a task is given up that the provider has, Unix milliseconds; undefined for a call. */
export function latestEndOf(opening: Opening, { taskFamily }: ExpiryCatalog): number | undefined {
  if (opening.type !== 'TaskRequested') return undefined
  const { family, requestedAt, expiresAt } = opening.data
  const [requestedAtMs, expiresAtMs] = [fromTimestamp(requestedAt), fromTimestamp(expiresAt)]
  return latestEndMs(taskFamily(family), { requestedAtMs, expiresAtMs })
}

function sum(amounts: readonly string[]): string {
  return formatAmount(amounts.reduce((total, amount) => total + parseAmount(amount), 0n))
}

/** How a line was calculated, in figures. */
export function formulaOf({
  quantity,
  price,
  per,
  amount,
}: Pick<SettlementLine, 'quantity' | 'price' | 'per' | 'amount'>): string {
  return `${quantity} × ${price} ÷ ${per} = ${amount}`
}

function lineOf(line: AdjustedLine): ReceiptLine {
  const { lineId, sku, rule, quantity, unit, price, per, amount, measurement, adjusted } = line
  const { accountPrices } = line
  return {
    lineId,
    sku,
    rule,
    quantity,
    unit,
    price,
    per,
    accountPrices,
    amount,
    formula: formulaOf(line),
    measurement,
    adjusted,
    hash: line.hash,
  }
}

function measurementOf(lines: readonly ReceiptLine[]): Receipt['measurement'] {
  const [first, ...others] = lines
  if (first === undefined) return undefined
  return others.some(({ measurement }) => measurement !== first.measurement)
    ? 'mixed'
    : first.measurement
}

/** Price book and currency. A failed call has neither. */
function termsOf(
  opening: Opening,
  status: ReceiptStatus,
): Pick<Receipt, 'currency' | 'priceBookVersion'> {
  if (status.state === 'settled') return status.settlement
  if (opening.type === 'TaskRequested') return opening.data.quote
  return { currency: undefined, priceBookVersion: undefined }
}

/** Writes the receipt of a task or a call. */
export function writeReceipt(parts: ReceiptParts): Receipt {
  const { opening, events, nativeId, corrections, catalog, asOf } = parts
  const status = receiptStatusOf(opening, events)
  const lines = parts.lines.map(lineOf)
  const amount = status.state === 'settled' ? status.settlement.amount : '0'
  const adjusted = sum(lines.map((line) => line.adjusted))
  const net = formatAmount(parseAmount(amount) - parseAmount(adjusted))
  const untilMs = status.state === 'awaiting_usage' ? latestEndOf(opening, catalog) : undefined
  const until = untilMs === undefined ? undefined : toTimestamp(untilMs)
  const { currency, priceBookVersion } = termsOf(opening, status)
  const { tenantId, userId, tokenId, requestId, surface, model, tags, endUser } = opening.data
  const isTask = opening.type === 'TaskRequested'
  return {
    sourceId: isTask ? opening.data.platformId : opening.data.callId,
    kind: isTask ? 'task' : 'call',
    state: status.state,
    verdict: receiptVerdictOf(status, { currency, lines, adjusted, net, until }),
    tenantId,
    userId,
    tokenId,
    requestId,
    nativeId,
    surface,
    model,
    tags,
    endUser,
    currency,
    amount,
    adjusted,
    net,
    asOf: String(asOf),
    held: 'hold' in status ? status.hold : '0',
    priceBookVersion,
    measurement: measurementOf(lines),
    lines,
    corrections,
    timeline: events.map(({ position, type, recordedAt }) => ({
      position: String(position),
      type,
      atMs: recordedAt.getTime(),
    })),
  }
}
