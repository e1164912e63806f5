import { createLru } from '../../kernel/lru.ts'
import type { Quote, Settlement } from '../../domain/pricing/settlement.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { ApprovalHistory } from './approvals.ts'
import { AccountPriceHistory } from './account-prices.ts'
import { settledSource, type Settling } from './expected-ledger.ts'
import type { Finding, Findings } from './findings.ts'
import { PublishedBooks } from './published-books.ts'
import { recomputeLine } from './recompute.ts'
import { billFault } from './task-bills.ts'
import type { SettleTask, TaskState } from './task-state.ts'
import { usageFaults } from './usage-lines.ts'

/**
 * Settled calls remembered, to see a second settlement of one; for older ones the ledger's own rows
 * show it.
 */
const MAX_REMEMBERED_CALLS = 50_000

/** Checks the log by itself, event by event: P2 and P4. */
export class LogChecks {
  settled = 0
  readonly #findings: Findings
  readonly #books = new PublishedBooks()
  readonly #calls = createLru<string, true>(MAX_REMEMBERED_CALLS)
  readonly #repeats = createLru<bigint, true>(MAX_REMEMBERED_CALLS)
  readonly #accountPrices: AccountPriceHistory
  readonly #approvals: ApprovalHistory
  readonly #settleTask: SettleTask | undefined

  /** @param settleTask the rules of the families; undefined: no task is settled again */
  constructor(
    findings: Findings,
    { log, wholeLog }: { readonly log: EventLog; readonly wholeLog: boolean },
    settleTask?: SettleTask,
  ) {
    this.#findings = findings
    this.#accountPrices = new AccountPriceHistory(log, wholeLog)
    this.#approvals = new ApprovalHistory(log, wholeLog, (version) => ({
      version,
      lookup: (sku, currency) => this.#books.entry(version, sku, currency),
    }))
    this.#settleTask = settleTask
  }

  /** Reads the earlier events on which these depend. Call it before `check`. */
  async recall(events: readonly RecordedEvent[], upTo: bigint): Promise<void> {
    await this.#accountPrices.recall(events, upTo)
    await this.#approvals.recall(events, upTo)
  }

  /** Takes the next event, given its task before it. */
  check(event: RecordedEvent, task: TaskState | undefined): void {
    if (task?.succeeded) this.#expectSettlement(event, task)
    this.#accountPrices.take(event)
    this.#checkApproval(event)
    if (event.type === 'PriceBookPublished') this.publish(event)
    else if (event.type === 'TaskSettled') this.#checkTask(event, task)
    else if (event.type === 'CallSettled') this.#checkCall(event)
  }

  /** Takes a price book that later lines may name. */
  publish(event: Extract<RecordedEvent, { type: 'PriceBookPublished' }>): void {
    this.#books.take(event)
  }

  /** A success whose next event is not its settlement. */
  unsettled(task: TaskState): void {
    this.#findings.push({
      code: 'success_without_settlement',
      table: 'log',
      key: task.platformId,
      position: task.succeeded?.position.toString() ?? '',
      message: 'the event after the success is not its settlement',
    })
  }

  /** A second settlement of one source; reported once. */
  settledTwice(event: Settling, why: string): void {
    if (this.#repeats.get(event.position)) return
    this.#repeats.set(event.position, true)
    this.#find('settled_twice', event, why)
  }

  #checkApproval(event: RecordedEvent): void {
    const message = this.#approvals.take(event)
    if (message === undefined) return
    const place = { key: event.stream, position: event.position.toString() }
    this.#findings.push({ code: 'approval_missing', table: 'log', ...place, message })
  }

  /** P2: in its stream the event after a success is its settlement, by the same command. */
  #expectSettlement(event: RecordedEvent, task: TaskState): void {
    const adjacent =
      event.type === 'TaskSettled' &&
      event.revision === (task.succeeded?.revision ?? -1n) + 1n &&
      event.metadata.commandId === task.succeeded?.commandId
    if (!adjacent) this.unsettled(task)
  }

  #checkTask(
    event: Extract<RecordedEvent, { type: 'TaskSettled' }>,
    task: TaskState | undefined,
  ): void {
    const { settlement } = event.data
    if (!task?.succeeded) this.#find('settlement_without_success', event, 'no success precedes it')
    if (task?.settled) this.settledTwice(event, 'an earlier settlement exists')
    if (task) this.#checkQuote(event, settlement, task.quote)
    const otherwise = task && this.#settleTask && billFault(event.data, task, this.#settleTask)
    if (otherwise !== undefined) this.#find('task_settled_otherwise', event, otherwise)
    for (const owner of ['tenantId', 'userId', 'tokenId'] as const)
      if (task && task[owner] !== event.data[owner])
        this.#find(
          'settled_for_another',
          event,
          `${owner} ${event.data[owner]} settles what ${task[owner]} requested`,
        )
    // A task that was never requested is a finding already.
    this.#checkSettlement(event, task?.requestedAt ?? event.data.settledAt)
  }

  #checkCall(event: Extract<RecordedEvent, { type: 'CallSettled' }>): void {
    const { callId } = event.data
    if (this.#calls.get(callId)) this.settledTwice(event, 'an earlier settlement exists')
    this.#calls.set(callId, true)
    for (const { code, message } of usageFaults(event.data.usage, event.data.settlement))
      this.#find(code, event, message)
    this.#checkSettlement(event, event.data.startedAt)
  }

  #checkSettlement(event: Settling, acceptedAt: string): void {
    const { settlement, tenantId } = event.data
    const { currency } = settlement
    const accepted = { tenantId, currency, acceptedAtMs: fromTimestamp(acceptedAt) }
    const unsold = this.#books.faultOf(settlement.priceBookVersion, accepted.acceptedAtMs)
    if (unsold !== undefined)
      this.#find('price_book_not_in_effect', event, `${unsold} at ${acceptedAt}`)
    let sumPico = 0n
    for (const line of settlement.lines) {
      const amountPico = recomputeLine(line)
      sumPico += amountPico
      if (amountPico !== parseAmount(line.amount))
        this.#find(
          'line_not_exact',
          event,
          `${line.sku}: recomputed ${formatAmount(amountPico)}, recorded ${line.amount}`,
        )
      const list = this.#books.entry(settlement.priceBookVersion, line.sku, currency)
      const priced = { line, list, ...accepted, position: event.position }
      const fault = this.#accountPrices.faultOf(priced)
      if (fault)
        this.#find(
          fault.code,
          event,
          `${fault.message} (price book ${settlement.priceBookVersion})`,
        )
    }
    if (sumPico !== parseAmount(settlement.amount))
      this.#find(
        'sum_not_exact',
        event,
        `lines sum to ${formatAmount(sumPico)}, recorded ${settlement.amount}`,
      )
    this.settled += 1
  }

  /** P4: the quote at acceptance fixed every settled price. */
  #checkQuote(event: Settling, settlement: Settlement, quote: Quote): void {
    for (const line of settlement.lines) {
      const frozen = quote.candidates.some(
        (rated) => rated.sku === line.sku && rated.price === line.price && rated.per === line.per,
      )
      if (!frozen)
        this.#find('settled_outside_quote', event, `${line.sku} at ${line.price} was not quoted`)
    }
  }

  #find(code: Finding['code'], event: Settling, message: string): void {
    const position = event.position.toString()
    this.#findings.push({ code, table: 'log', key: settledSource(event), position, message })
  }
}
