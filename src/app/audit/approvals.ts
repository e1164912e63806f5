import { noRule, ruleAfter, ruleFault } from '../../domain/account/approval-rule.ts'
import { type AccountEvent, accountStream } from '../../domain/account/events.ts'
import type { RuleState } from '../../domain/account/proposal-state.ts'
import type { PriceBook } from '../../domain/pricing/price-book.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { readEach, readTo } from './streams.ts'

const types = [
  'ApprovalsSet',
  'AccountPricesSet',
  'CreditGranted',
  'AdjustmentPosted',
  'CreditLimitSet',
  'PostingProposed',
  'PostingApproved',
  'PostingRejected',
] as const satisfies readonly AccountEvent['type'][]
type RuleEvent = RecordedEvent<Extract<AccountEvent, { readonly type: (typeof types)[number] }>>
const known: ReadonlySet<string> = new Set(types)

function isRuleEvent(event: RecordedEvent): event is RuleEvent {
  return known.has(event.type)
}

/**
 * The approvals of every tenant as they were at each posting and change of a setting. Memory grows
 * with tenants that have credit or prices of their own, and with proposals.
 */
export class ApprovalHistory {
  readonly #log: EventLog
  readonly #wholeLog: boolean
  /** Tenants whose earlier events were all read. */
  readonly #recalled = new Set<string>()
  readonly #rules = new Map<string, RuleState>()

  readonly #bookOf: (version: string) => PriceBook

  /**
   * @param wholeLog the audit starts with the log, so there are no earlier events to read
   * @param bookOf a price book that was published before
   */
  constructor(log: EventLog, wholeLog: boolean, bookOf: (version: string) => PriceBook) {
    this.#bookOf = bookOf
    this.#log = log
    this.#wholeLog = wholeLog
  }

  /** Reads what the tenants of these events had posted and set up to an earlier position. */
  async recall(events: readonly RecordedEvent[], upTo: bigint): Promise<void> {
    if (this.#wholeLog) return
    const tenants = events.filter(isRuleEvent).map(({ data }) => data.tenantId)
    const unknown = new Set(tenants.filter((tenant) => !this.#recalled.has(tenant)))
    await readEach(unknown, async (tenant) => {
      for await (const event of readTo(this.#log, accountStream(tenant), upTo)) this.take(event)
      this.#recalled.add(tenant)
    })
  }

  /** Takes the next event, and says why it breaks the rule of its time, if it does. */
  take(event: RecordedEvent): string | undefined {
    if (!isRuleEvent(event)) return undefined
    const { tenantId } = event.data
    const before = this.#rules.get(tenantId) ?? noRule
    this.#rules.set(tenantId, ruleAfter(before, event))
    return ruleFault(before, event, this.#bookOf)
  }
}
