import { canonicalTime } from '../../../projections/engine/audited-rows.ts'
import type { Settlement } from '../../domain/pricing/settlement.ts'
import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { canonicalPrice, formatAmount, parseAmount } from '../../kernel/money.ts'
import { plain, type Expected } from './compare.ts'
import { holdEnd, type TaskState } from './task-state.ts'

/** Change of one balance by an event, in pico. */
export interface BalanceChange {
  readonly tenantId: string
  readonly currency: string
  readonly granted?: bigint
  readonly adjusted?: bigint
  readonly refunded?: bigint
  readonly settled?: bigint
  readonly held?: bigint
  /** The limit from now on. */
  readonly limit?: bigint
}

/** Everything that an event must have left in the ledger, by the log alone. */
export interface LedgerEffect {
  readonly event: RecordedEvent
  readonly lines: readonly Expected[]
  readonly settlements: readonly Expected[]
  readonly entries: readonly Expected[]
  readonly adjustments: readonly Expected[]
  readonly grants: readonly Expected[]
  readonly balance: BalanceChange | undefined
}

/** An event that settles a task or a call. */
export type Settling = Extract<RecordedEvent, { type: 'TaskSettled' | 'CallSettled' }>

/** The source of a settlement's lines: a task or a call. */
export function settledSource({ type, data }: Settling): string {
  return type === 'TaskSettled' ? data.platformId : data.callId
}

/** The JSON of the tags, keys in order: written a second time on purpose. */
function tagsOf(tags: Readonly<Record<string, string>> | undefined): string | null {
  const keys = Object.keys(tags ?? {}).sort()
  if (keys.length === 0) return null
  const members = keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(tags?.[key])}`)
  return `{${members.join(',')}}`
}

function linesOf(event: Settling, settlement: Settlement): readonly Expected[] {
  const { data, position } = event
  const sourceId = settledSource(event)
  const settledAt = canonicalTime(data.settledAt)
  const tags = tagsOf(data.tags)
  const endUser = data.endUser === undefined ? null : plain(data.endUser)
  return settlement.lines.map((line, index) => ({
    line_id: `${sourceId}:${index + 1}`,
    settled_at: settledAt,
    tenant_id: data.tenantId,
    user_id: data.userId,
    token_id: data.tokenId,
    source_id: sourceId,
    native_id: event.type === 'TaskSettled' ? plain(event.data.nativeId) : null,
    surface: data.surface,
    model: data.model,
    sku: line.sku,
    rule: line.rule,
    quantity: line.quantity,
    unit: line.unit,
    price: canonicalPrice(line.price),
    per: line.per,
    currency: settlement.currency,
    amount: formatAmount(parseAmount(line.amount)),
    price_book_version: settlement.priceBookVersion,
    measurement: line.measurement,
    request_id: data.requestId,
    position,
    account_prices: line.accountPrice?.revision ?? null,
    tags,
    end_user: endUser,
  }))
}

/** An amount moved between two accounts of a tenant; undefined for no amount. */
function moved(
  event: RecordedEvent,
  of: { readonly sourceId: string; readonly tenantId: string; readonly currency: string },
  kind: string,
  accounts: readonly [debit: string, credit: string],
  amountPico: bigint,
): Expected | undefined {
  if (amountPico === 0n) return undefined
  const [debit, credit] = amountPico < 0n ? [accounts[1], accounts[0]] : accounts
  return {
    position: event.position,
    kind,
    source_id: of.sourceId,
    tenant_id: of.tenantId,
    currency: of.currency,
    debit,
    credit,
    amount: formatAmount(amountPico < 0n ? -amountPico : amountPico),
  }
}

function nothing(event: RecordedEvent): LedgerEffect {
  const rows = { lines: [], settlements: [], entries: [], adjustments: [], grants: [] }
  return { event, ...rows, balance: undefined }
}

function numbered(entries: readonly (Expected | undefined)[]): readonly Expected[] {
  return entries
    .filter((entry) => entry !== undefined)
    .map((entry, index) => ({ ...entry, n: index + 1 }))
}

/** The end of a task's hold, if it is still open. */
function holdEnded(event: RecordedEvent, task: TaskState | undefined): Expected | undefined {
  if (!task?.open) return undefined
  const captured = event.type === 'TaskSettled'
  const { tenantId, platformId: sourceId, quote } = task
  return moved(
    event,
    { sourceId, tenantId, currency: quote.currency },
    captured ? 'hold_captured' : 'hold_released',
    ['available', 'held'],
    parseAmount(quote.hold),
  )
}

function settled(event: Settling, task: TaskState | undefined): LedgerEffect {
  const { settlement, tenantId } = event.data
  const { currency } = settlement
  const sourceId = settledSource(event)
  const amountPico = parseAmount(settlement.amount)
  const entry = moved(
    event,
    { sourceId, tenantId, currency },
    'settled',
    ['receivable', 'revenue'],
    amountPico,
  )
  const lines = linesOf(event, settlement)
  const row = {
    source_id: sourceId,
    tenant_id: tenantId,
    currency,
    amount: formatAmount(amountPico),
    lines: lines.length,
    position: event.position,
  }
  const held = task?.open ? -parseAmount(task.quote.hold) : 0n
  return {
    ...nothing(event),
    lines,
    settlements: [row],
    entries: numbered([holdEnded(event, task), entry]),
    balance: { tenantId, currency, settled: amountPico, held },
  }
}

/** The effect without money, for a source that was settled before: the first settlement counts. */
export function withoutSettlement(effect: LedgerEffect): LedgerEffect {
  const { entries, balance } = effect
  return {
    ...effect,
    lines: [],
    settlements: [],
    entries: numbered(entries.filter(({ kind }) => kind !== 'settled')),
    // A settlement without effect does not touch the balance's row either.
    balance: balance?.held ? { ...balance, settled: 0n } : undefined,
  }
}

function adjustmentRow(event: Extract<RecordedEvent, { type: 'AdjustmentPosted' }>): Expected {
  const { data, metadata, position } = event
  const { corrects } = data
  return {
    position,
    adjustment_id: data.adjustmentId,
    tenant_id: data.tenantId,
    currency: data.currency,
    amount: formatAmount(parseAmount(data.amount)),
    line_id: corrects.kind === 'line' ? corrects.lineId : null,
    grant_id: corrects.kind === 'grant' ? corrects.grantId : null,
    code: data.code ?? null,
    reason: plain(data.reason),
    actor: metadata.actor === undefined ? null : plain(metadata.actor),
    posted_at: canonicalTime(data.postedAt),
  }
}

function grantRow(event: Extract<RecordedEvent, { type: 'CreditGranted' }>): Expected {
  const { data, metadata, position } = event
  return {
    position,
    grant_id: data.grantId,
    tenant_id: data.tenantId,
    currency: data.currency,
    amount: formatAmount(parseAmount(data.amount)),
    credit: data.credit ?? 'paid',
    reference: data.reference === undefined ? null : plain(data.reference),
    reason: plain(data.reason),
    actor: metadata.actor === undefined ? null : plain(metadata.actor),
    granted_at: canonicalTime(data.grantedAt),
  }
}

function given(
  event: Extract<RecordedEvent, { type: 'CreditGranted' | 'AdjustmentPosted' }>,
): LedgerEffect {
  const { tenantId, currency } = event.data
  const amountPico = parseAmount(event.data.amount)
  const granted = event.type === 'CreditGranted'
  const sourceId = granted ? event.data.grantId : event.data.adjustmentId
  const entry = moved(
    event,
    { sourceId, tenantId, currency },
    granted ? 'granted' : 'adjusted',
    [granted ? 'credit' : 'adjustment', 'receivable'],
    amountPico,
  )
  const isRefund = event.type === 'AdjustmentPosted' && event.data.corrects.kind === 'line'
  const balance = granted
    ? { granted: amountPico }
    : { adjusted: amountPico, refunded: isRefund ? amountPico : 0n }
  return {
    ...nothing(event),
    entries: numbered([entry]),
    adjustments: event.type === 'AdjustmentPosted' ? [adjustmentRow(event)] : [],
    grants: event.type === 'CreditGranted' ? [grantRow(event)] : [],
    balance: { tenantId, currency, ...balance },
  }
}

function placed(event: Extract<RecordedEvent, { type: 'TaskRequested' }>): LedgerEffect {
  const { platformId: sourceId, tenantId, quote } = event.data
  const { currency } = quote
  const held = parseAmount(quote.hold)
  const of = { sourceId, tenantId, currency }
  const entry = moved(event, of, 'hold_placed', ['held', 'available'], held)
  return { ...nothing(event), entries: numbered([entry]), balance: { tenantId, currency, held } }
}

function released(event: RecordedEvent, task: TaskState | undefined): LedgerEffect | undefined {
  if (!task?.open || holdEnd(event) !== 'released') return undefined
  const { tenantId, quote } = task
  const balance = { tenantId, currency: quote.currency, held: -parseAmount(quote.hold) }
  return { ...nothing(event), entries: numbered([holdEnded(event, task)]), balance }
}

/**
 * The rows that an event must have written into the ledger, given its task before it; undefined for
 * none. It computes money movements a second time, and a test compares it with the facts of every
 * event.
 */
export function ledgerEffect(
  event: RecordedEvent,
  task: TaskState | undefined,
): LedgerEffect | undefined {
  if (event.type === 'TaskRequested') return placed(event)
  if (event.type === 'TaskSettled') return settled(event, task)
  if (event.type === 'CallSettled') return settled(event, undefined)
  if (event.type === 'CreditGranted' || event.type === 'AdjustmentPosted') return given(event)
  if (event.type === 'CreditLimitSet') {
    const { tenantId, currency, limit } = event.data
    return { ...nothing(event), balance: { tenantId, currency, limit: parseAmount(limit) } }
  }
  return released(event, task)
}
