import type { PriceEntry } from '../../domain/pricing/events.ts'
import type { Quote, Settlement } from '../../domain/pricing/settlement.ts'
import type { RecordedEvent } from '../../eventlog/types.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { type Finding, Findings } from './findings.ts'
import { recomputeLine } from './recompute.ts'

/** A ledger line as the log says it must be. */
export interface ExpectedLine {
  readonly lineId: string
  readonly sourceId: string
  readonly nativeId: string | null
  readonly settledAt: string
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  readonly surface: string
  readonly model: string
  readonly requestId: string
  readonly sku: string
  readonly rule: string
  readonly quantity: number
  readonly unit: string
  readonly price: string
  readonly per: number
  readonly currency: string
  readonly amount: string
  readonly priceBookVersion: string
  readonly measurement: string
  readonly position: bigint
}

export interface ExpectedBalance {
  creditPico: bigint
  settledPico: bigint
  heldPico: bigint
  limitPico: bigint
}

interface OpenTask {
  readonly tenantId: string
  readonly quote: Quote
  succeeded?: { readonly revision: bigint; readonly commandId: string; readonly position: bigint }
}

/**
 * Folds the log by itself, sharing nothing with the projections: checks P2 and P4 event by event and
 * says which lines and balances must stand in Postgres. Holds one entry per task in flight and one
 * id per settled source.
 */
export class AuditFold {
  readonly findings = new Findings()
  readonly balances = new Map<string, ExpectedBalance>()
  readonly settledSources = new Set<string>()
  events = 0
  lines = 0
  readonly #open = new Map<string, OpenTask>()
  readonly #books = new Map<string, ReadonlyMap<string, PriceEntry>>()

  /** Takes the next event in log order; returns the ledger lines it must have produced. */
  observe(event: RecordedEvent): readonly ExpectedLine[] {
    this.events += 1
    this.#expectSettlementAfterSuccess(event)
    return this.#apply(event)
  }

  /** To be called at the end of the log: a success whose settlement never came is a finding. */
  finish(): void {
    for (const [sourceId, task] of this.#open)
      if (task.succeeded) this.#unsettled(sourceId, task.succeeded.position)
  }

  #apply(event: RecordedEvent): readonly ExpectedLine[] {
    switch (event.type) {
      case 'TaskRequested': {
        const { platformId, tenantId, quote } = event.data
        this.#open.set(platformId, { tenantId, quote })
        this.#balance(tenantId, quote.currency).heldPico += parseAmount(quote.hold)
        return []
      }
      case 'TaskSucceeded': {
        const task = this.#open.get(event.data.platformId)
        const { revision, position } = event
        if (task) task.succeeded = { revision, position, commandId: event.metadata.commandId }
        return []
      }
      case 'TaskSettled':
        return this.#settleTask(event)
      case 'CallSettled':
        return this.#settleCall(event)
      case 'TaskSubmissionRefused':
      case 'TaskFailed':
      case 'TaskExpired':
      case 'TaskCancelled':
        this.#release(event.data.platformId)
        return []
      case 'CreditGranted':
      case 'AdjustmentPosted':
        this.#balance(event.data.tenantId, event.data.currency).creditPico += parseAmount(
          event.data.amount,
        )
        return []
      case 'CreditLimitSet':
        this.#balance(event.data.tenantId, event.data.currency).limitPico = parseAmount(
          event.data.limit,
        )
        return []
      case 'PriceBookPublished':
        this.#books.set(
          event.data.version,
          new Map(event.data.entries.map((entry) => [`${entry.sku} ${entry.currency}`, entry])),
        )
        return []
      case 'TaskSubmitted':
      case 'TaskSubmissionUncertain':
      case 'TaskStatusChanged':
      case 'TaskDeleted':
      case 'TaskAppearedLate':
      case 'CallFailed':
      case 'TenantOpened':
      case 'UserAdded':
      case 'TokenIssued':
      case 'TokenRotated':
      case 'TokenLimitsChanged':
      case 'TokenDisabled':
        return []
    }
  }

  /** P2: the event after a success in its stream is its settlement, by the same command. */
  #expectSettlementAfterSuccess(event: RecordedEvent): void {
    if (!event.stream.startsWith('task-')) return
    const sourceId = event.stream.slice('task-'.length)
    const task = this.#open.get(sourceId)
    if (!task?.succeeded) return
    const adjacent =
      event.type === 'TaskSettled' &&
      event.revision === task.succeeded.revision + 1n &&
      event.metadata.commandId === task.succeeded.commandId
    if (!adjacent) {
      this.#unsettled(sourceId, task.succeeded.position)
      delete task.succeeded
    }
  }

  #settleTask(event: Extract<RecordedEvent, { type: 'TaskSettled' }>): readonly ExpectedLine[] {
    const { data } = event
    const task = this.#open.get(data.platformId)
    if (!task?.succeeded)
      this.#find('settlement_without_success', data.platformId, event, 'no success precedes it')
    if (task) this.#checkQuote(event, data.settlement, task.quote)
    this.#release(data.platformId)
    return this.#settle(event, data.platformId, data.nativeId, data.settlement)
  }

  #settleCall(event: Extract<RecordedEvent, { type: 'CallSettled' }>): readonly ExpectedLine[] {
    return this.#settle(event, event.data.callId, null, event.data.settlement)
  }

  #settle(
    event: Extract<RecordedEvent, { type: 'TaskSettled' | 'CallSettled' }>,
    sourceId: string,
    nativeId: string | null,
    settlement: Settlement,
  ): readonly ExpectedLine[] {
    if (this.settledSources.has(sourceId))
      this.#find('settled_twice', sourceId, event, 'an earlier settlement exists')
    this.settledSources.add(sourceId)
    const { data, position } = event
    const book = this.#books.get(settlement.priceBookVersion)
    let sumPico = 0n
    const lines = settlement.lines.map((line, index): ExpectedLine => {
      const amountPico = recomputeLine(line)
      sumPico += amountPico
      if (amountPico !== parseAmount(line.amount))
        this.#find('line_not_exact', sourceId, event, `${line.sku}: recomputed ${formatAmount(amountPico)}, recorded ${line.amount}`) // prettier-ignore
      const entry = book?.get(`${line.sku} ${settlement.currency}`)
      if (!entry || entry.price !== line.price || entry.per !== line.per)
        this.#find('price_not_in_book', sourceId, event, `${line.sku} at ${line.price} per ${line.per} is not in price book ${settlement.priceBookVersion}`) // prettier-ignore
      return {
        ...line,
        lineId: `${sourceId}:${index + 1}`,
        sourceId,
        nativeId,
        settledAt: data.settledAt,
        tenantId: data.tenantId,
        userId: data.userId,
        tokenId: data.tokenId,
        surface: data.surface,
        model: data.model,
        requestId: data.requestId,
        currency: settlement.currency,
        priceBookVersion: settlement.priceBookVersion,
        position,
      }
    })
    if (sumPico !== parseAmount(settlement.amount))
      this.#find('sum_not_exact', sourceId, event, `lines sum to ${formatAmount(sumPico)}, recorded ${settlement.amount}`) // prettier-ignore
    this.#balance(data.tenantId, settlement.currency).settledPico += sumPico
    this.lines += lines.length
    return lines
  }

  /** P4: every settled price was frozen in the quote at acceptance. */
  #checkQuote(event: RecordedEvent, settlement: Settlement, quote: Quote): void {
    const sourceId = event.stream.slice('task-'.length)
    for (const line of settlement.lines) {
      const frozen = quote.candidates.some(
        (rated) => rated.sku === line.sku && rated.price === line.price && rated.per === line.per,
      )
      if (!frozen)
        this.#find('settled_outside_quote', sourceId, event, `${line.sku} at ${line.price} was not quoted`) // prettier-ignore
    }
  }

  #release(sourceId: string): void {
    const task = this.#open.get(sourceId)
    if (!task) return
    this.#balance(task.tenantId, task.quote.currency).heldPico -= parseAmount(task.quote.hold)
    this.#open.delete(sourceId)
  }

  #balance(tenantId: string, currency: string): ExpectedBalance {
    const key = `${tenantId} ${currency}`
    const found = this.balances.get(key)
    if (found) return found
    const fresh = { creditPico: 0n, settledPico: 0n, heldPico: 0n, limitPico: 0n }
    this.balances.set(key, fresh)
    return fresh
  }

  #unsettled(sourceId: string, position: bigint): void {
    this.findings.push({
      code: 'success_without_settlement',
      sourceId,
      position: position.toString(),
      message: 'the event after the success is not its settlement',
    })
  }

  #find(code: Finding['code'], sourceId: string, event: RecordedEvent, message: string): void {
    this.findings.push({ code, sourceId, position: event.position.toString(), message })
  }
}
