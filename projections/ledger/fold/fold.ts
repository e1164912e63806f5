import { parseAmount } from '../../../src/kernel/money.ts'
import type { AccountEvent } from '../../../src/domain/account/events.ts'
import type { CallEvent } from '../../../src/domain/call/events.ts'
import type { TaskEvent } from '../../../src/domain/task/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { balanceOf, emptyChange, enter, type Hold, type LedgerChange } from './change.ts'
import { closeHold, placeHold } from './holds.ts'
import { settle } from './settle.ts'

export type LedgerEvent = RecordedEvent<TaskEvent | CallEvent | AccountEvent>

function giveCredit(
  change: LedgerChange,
  position: bigint,
  given: {
    readonly kind: 'granted' | 'adjusted'
    readonly sourceId: string
    readonly tenantId: string
    readonly currency: string
    readonly amount: string
  },
): void {
  const { kind, sourceId, tenantId, currency } = given
  const amountPico = parseAmount(given.amount)
  balanceOf(change, tenantId, currency, position)[kind] += amountPico
  const account = kind === 'granted' ? 'credit' : 'adjustment'
  // Taking back is the same movement the other way round: entries are positive.
  const taken = amountPico < 0n
  enter(change, {
    position,
    kind,
    sourceId,
    tenantId,
    currency,
    debit: taken ? 'receivable' : account,
    credit: taken ? account : 'receivable',
    amountPico: taken ? -amountPico : amountPico,
  })
}

function applyEvent(change: LedgerChange, event: LedgerEvent): void {
  const { position } = event
  switch (event.type) {
    case 'TaskRequested':
      placeHold(change, position, event.data)
      break
    case 'TaskSettled': {
      const { platformId: sourceId, nativeId, settledAt } = event.data
      closeHold(change, sourceId, 'captured', settledAt, position)
      settle(change, position, { sourceId, nativeId }, event.data)
      break
    }
    case 'TaskSubmissionRefused':
      closeHold(change, event.data.platformId, 'released', event.data.refusedAt, position)
      break
    case 'TaskFailed':
      closeHold(change, event.data.platformId, 'released', event.data.failedAt, position)
      break
    case 'TaskExpired':
      closeHold(change, event.data.platformId, 'released', event.data.expiredAt, position)
      break
    case 'TaskCancelled':
      closeHold(change, event.data.platformId, 'released', event.data.cancelledAt, position)
      break
    case 'CallSettled':
      settle(change, position, { sourceId: event.data.callId, nativeId: null }, event.data)
      break
    case 'CreditGranted':
      giveCredit(change, position, { ...event.data, kind: 'granted', sourceId: event.data.grantId })
      break
    case 'AdjustmentPosted': {
      const { data, metadata } = event
      giveCredit(change, position, { ...data, kind: 'adjusted', sourceId: data.adjustmentId })
      const { amount, ...facts } = data
      const amountPico = parseAmount(amount)
      change.adjustments.push({ ...facts, position, amountPico, actor: metadata.actor })
      break
    }
    case 'CreditLimitSet':
      balanceOf(change, event.data.tenantId, event.data.currency, position).limit = parseAmount(
        event.data.limit,
      )
      break
    case 'TaskSubmitted':
    case 'TaskSubmissionUncertain':
    case 'TaskStatusChanged':
    case 'TaskSucceeded':
    case 'TaskDeleted':
    case 'TaskAppearedLate':
    case 'CallFailed':
    case 'TenantOpened':
    case 'UserAdded':
      break
  }
}

/** Whether an event ends the hold of its task. */
function closesHold(event: LedgerEvent): event is LedgerEvent & {
  readonly data: { readonly platformId: string }
} {
  return (
    event.type === 'TaskSettled' ||
    event.type === 'TaskSubmissionRefused' ||
    event.type === 'TaskFailed' ||
    event.type === 'TaskExpired' ||
    event.type === 'TaskCancelled'
  )
}

/** Tasks whose hold a batch may close without having placed it. */
export function closingSources(batch: readonly LedgerEvent[]): readonly string[] {
  const placed = new Set<string>()
  const closing = new Set<string>()
  for (const event of batch) {
    if (event.type === 'TaskRequested') placed.add(event.data.platformId)
    else if (closesHold(event) && !placed.has(event.data.platformId))
      closing.add(event.data.platformId)
  }
  return [...closing]
}

/** What a batch does to the ledger, given the placed holds of `closingSources`. */
export function foldLedger(batch: readonly LedgerEvent[], holds: readonly Hold[]): LedgerChange {
  const change = emptyChange(holds)
  for (const event of batch) applyEvent(change, event)
  return change
}
