import type { AccountEventData } from '../../../src/domain/account/events.ts'
import type { AnyEvent, AnyEventType } from '../../../src/domain/any-event.ts'
import type { Settlement } from '../../../src/domain/pricing/settlement.ts'

/** What the settling event of a task or a call says. */
export interface Settled {
  readonly tenantId: string
  readonly userId: string
  readonly tokenId: string
  readonly requestId: string
  readonly surface: string
  readonly model: string
  readonly settledAt: string
  readonly settlement: Settlement
}

interface Given {
  readonly sourceId: string
  readonly tenantId: string
  readonly currency: Settlement['currency']
  /** Decimal string. */
  readonly amount: string
}

/** A hold that a request places on the balance. */
export interface HoldPlaced extends Given {
  readonly kind: 'hold_placed'
  readonly placedAt: string
}

/** The hold of a source ends, if one is placed; of how much it was, the event does not say. */
export interface HoldEnded {
  readonly kind: 'hold_ended'
  readonly sourceId: string
  readonly state: 'captured' | 'released'
  readonly endedAt: string
}

/** One thing an event does to the money of a tenant. */
export type Movement =
  | HoldPlaced
  | HoldEnded
  | {
      readonly kind: 'settled'
      readonly sourceId: string
      readonly nativeId: string | null
      readonly settled: Settled
    }
  /** The amount is positive. */
  | ({ readonly kind: 'granted'; readonly grant: AccountEventData<'CreditGranted'> } & Given)
  /** The amount is signed: positive gives to the tenant. */
  | ({
      readonly kind: 'adjusted'
      readonly adjustment: AccountEventData<'AdjustmentPosted'>
    } & Given)
  | {
      readonly kind: 'limit_set'
      readonly tenantId: string
      readonly currency: Settlement['currency']
      /** Decimal string: the limit from now on. */
      readonly limit: string
    }

type DataOf = { readonly [E in AnyEvent as E['type']]: E['data'] }

const NOTHING: readonly Movement[] = []

/** Moves no money: who reads the ledger does not even look at such an event. */
const nothing = (): readonly Movement[] => NOTHING

const released = (sourceId: string, endedAt: string): readonly Movement[] => [
  { kind: 'hold_ended', sourceId, state: 'released', endedAt },
]

/** Of every event there is, what it moves, in order: an event without its row here does not compile. */
const movements: {
  readonly [T in AnyEventType]: (data: DataOf[T]) => readonly Movement[]
} = {
  TaskRequested: ({ platformId: sourceId, tenantId, quote, requestedAt: placedAt }) => [
    {
      kind: 'hold_placed',
      sourceId,
      tenantId,
      currency: quote.currency,
      amount: quote.hold,
      placedAt,
    },
  ],
  TaskStarted: nothing,
  TaskSubmitted: nothing,
  TaskSubmissionRefused: (data) => released(data.platformId, data.refusedAt),
  TaskSubmissionUncertain: nothing,
  TaskStatusChanged: nothing,
  TaskSucceeded: nothing,
  TaskSettled: (data) => [
    {
      kind: 'hold_ended',
      sourceId: data.platformId,
      state: 'captured',
      endedAt: data.settledAt,
    },
    { kind: 'settled', sourceId: data.platformId, nativeId: data.nativeId, settled: data },
  ],
  TaskFailed: (data) => released(data.platformId, data.failedAt),
  TaskAppearedLate: nothing,
  TaskExpired: (data) => released(data.platformId, data.expiredAt),
  TaskCancelled: (data) => released(data.platformId, data.cancelledAt),
  TaskDeleted: nothing,
  CallSettled: (data) => [
    { kind: 'settled', sourceId: data.callId, nativeId: null, settled: data },
  ],
  // What it cost is ours.
  CallFailed: nothing,
  // What was never billed is given up: nothing is taken back.
  CallWrittenOff: nothing,
  TenantOpened: nothing,
  UserAdded: nothing,
  CreditGranted: (grant) => {
    const { grantId: sourceId, tenantId, currency, amount } = grant
    return [{ kind: 'granted', sourceId, tenantId, currency, amount, grant }]
  },
  CreditLimitSet: ({ tenantId, currency, limit }) => [
    { kind: 'limit_set', tenantId, currency, limit },
  ],
  AdjustmentPosted: (adjustment) => {
    const { adjustmentId: sourceId, tenantId, currency, amount } = adjustment
    return [{ kind: 'adjusted', sourceId, tenantId, currency, amount, adjustment }]
  },
  // What was agreed on before stays.
  AccountPricesSet: nothing,
  BudgetsSet: nothing,
  LimitsSet: nothing,
  BalanceAlertsSet: nothing,
  TokenIssued: nothing,
  TokenRotated: nothing,
  TokenLimitsChanged: nothing,
  TokenUpdated: nothing,
  TokenDisabled: nothing,
  PriceBookPublished: nothing,
  FileUploaded: nothing,
  FileDeleted: nothing,
  MediaUploaded: nothing,
  // The call that made it is settled by itself.
  VoiceCloned: nothing,
  AssetCreated: nothing,
  AssetAccepted: nothing,
  AssetRefused: nothing,
  AssetActivated: nothing,
  AssetFailed: nothing,
  AssetUsed: nothing,
  AssetUpdated: nothing,
  AssetWithdrawn: nothing,
  AssetDeleted: nothing,
  AssetGroupCreated: nothing,
  AssetGroupAccepted: nothing,
  AssetGroupRefused: nothing,
  AssetGroupUpdated: nothing,
  AssetGroupWithdrawn: nothing,
  AssetGroupDeleted: nothing,
  VerificationStarted: nothing,
  VerificationConfirmed: nothing,
  VerificationExpired: nothing,
}

/** The events that move money. */
export const movingTypes: ReadonlySet<AnyEventType> = new Set(
  (Object.keys(movements) as AnyEventType[]).filter((type) => movements[type] !== nothing),
)

/** What an event moves, in order. */
export function movementsOf<T extends AnyEventType>(
  event: { readonly [K in T]: { readonly type: K; readonly data: DataOf[K] } }[T],
): readonly Movement[] {
  return movements[event.type](event.data)
}
