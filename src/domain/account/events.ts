import { Type, type Static } from '@sinclair/typebox'
import { PriceEntrySchema } from '../pricing/events.ts'
import {
  CorrectsSchema,
  CurrencySchema,
  DecimalSchema,
  MultiplierSchema,
} from '../pricing/settlement.ts'
import { noDescription, type FactsOf } from '../event-facts.ts'

/** Lower-case hex SHA-256. */
const KeyHashSchema = Type.Optional(Type.String())

const LimitSchema = Type.Optional(Type.Integer({ minimum: 1 }))

/** At least one limit. */
const SubjectLimitsSchema = Type.Object({
  subject: Type.Union([
    Type.Object({ kind: Type.Literal('tenant') }),
    Type.Object({ kind: Type.Literal('user'), userId: Type.String() }),
  ]),
  requestsPerMinute: LimitSchema,
  /** Tokens of text, in and out. */
  tokensPerMinute: LimitSchema,
  /** Synchronous calls that are under way. */
  concurrentCalls: LimitSchema,
  /** Asynchronous tasks that have not ended. */
  concurrentTasks: LimitSchema,
})

/** At least one of `hard` and `soft`. */
const BudgetSchema = Type.Object({
  subject: Type.Union([
    Type.Object({ kind: Type.Literal('tenant') }),
    Type.Object({ kind: Type.Literal('user'), userId: Type.String() }),
    Type.Object({ kind: Type.Literal('token'), tokenId: Type.String() }),
  ]),
  currency: CurrencySchema,
  period: Type.Union([Type.Literal('day'), Type.Literal('month')]),
  /** Nothing is started that could go beyond it. */
  hard: Type.Optional(DecimalSchema),
  /** The gateway reports when it is reached. */
  soft: Type.Optional(DecimalSchema),
})

/** Each says all of a setting from now on. */
const settingEvents = {
  /**
   * The tenant's prices over those of the list from now on, all of them: with neither a multiplier
   * nor its own prices it has those of the list again.
   */
  AccountPricesSet: Type.Object({
    tenantId: Type.String(),
    /** Counts these events of the tenant from 1. */
    revision: Type.Integer({ minimum: 1 }),
    /** What list prices are multiplied by; absent: they are not. */
    multiplier: Type.Optional(MultiplierSchema),
    /** Own prices of single SKUs: not multiplied. */
    prices: Type.Array(PriceEntrySchema),
    setAt: Type.String(),
  }),
  /** How much may be spent in a day or a month from now on, all of it: what is absent is bounded no more. */
  BudgetsSet: Type.Object({
    tenantId: Type.String(),
    /** Counts these events of the tenant from 1. */
    revision: Type.Integer({ minimum: 1 }),
    /** Of the IANA database: days and months begin at its midnights. */
    timeZone: Type.String(),
    budgets: Type.Array(BudgetSchema),
    setAt: Type.String(),
  }),
  /** When and where the tenant is notified of a low balance, from now on: all of it. */
  BalanceAlertsSet: Type.Object({
    tenantId: Type.String(),
    /** Counts these events of the tenant from 1. */
    revision: Type.Integer({ minimum: 1 }),
    /** Of a currency one at most. */
    thresholds: Type.Array(Type.Object({ currency: CurrencySchema, below: DecimalSchema })),
    webhookUrl: Type.Optional(Type.String()),
    /** Which of the tenant's secrets webhooks are signed with; the secrets follow from it and are kept nowhere (P7). */
    secretVersion: Type.Integer({ minimum: 1 }),
    setAt: Type.String(),
  }),
  /** How much the tenant and its users may ask at a time from now on, all of it: what is absent is limited no more. */
  LimitsSet: Type.Object({
    tenantId: Type.String(),
    /** Counts these events of the tenant from 1. */
    revision: Type.Integer({ minimum: 1 }),
    limits: Type.Array(SubjectLimitsSchema),
    setAt: Type.String(),
  }),
} as const

export const accountEvents = {
  TenantOpened: Type.Object({
    tenantId: Type.String(),
    name: Type.String(),
    openedAt: Type.String(),
  }),
  UserAdded: Type.Object({
    tenantId: Type.String(),
    userId: Type.String(),
    name: Type.String(),
    addedAt: Type.String(),
  }),
  CreditGranted: Type.Object({
    tenantId: Type.String(),
    grantId: Type.String(),
    currency: CurrencySchema,
    /** Positive; taking back is an adjustment. */
    amount: DecimalSchema,
    reason: Type.String(),
    /** Of the caller's `Idempotency-Key`; absent: it was sent without one. */
    keyHash: KeyHashSchema,
    grantedAt: Type.String(),
  }),
  /** How far below zero the balance may go; absent means prepaid (zero). */
  CreditLimitSet: Type.Object({
    tenantId: Type.String(),
    currency: CurrencySchema,
    limit: DecimalSchema,
    /** Names this setting, so that a retry of it is recognised; absent in older events. */
    limitId: Type.Optional(Type.String()),
    /** As of a grant. */
    keyHash: KeyHashSchema,
    setAt: Type.String(),
  }),
  AdjustmentPosted: Type.Object({
    tenantId: Type.String(),
    adjustmentId: Type.String(),
    currency: CurrencySchema,
    /** Signed: positive gives to the tenant. */
    amount: DecimalSchema,
    corrects: CorrectsSchema,
    reason: Type.String(),
    postedAt: Type.String(),
  }),
  ...settingEvents,
} as const

const ofAccount = (): undefined => undefined

/** Name of a subject of limits, unique within the tenant. */
export function limitedName(subject: Static<typeof SubjectLimitsSchema>['subject']): string {
  return subject.kind === 'tenant' ? 'tenant' : `user ${subject.userId}`
}

export const accountFacts: FactsOf<typeof accountEvents> = {
  TenantOpened: { source: ofAccount, at: (d) => d.openedAt, words: (d) => d.name },
  UserAdded: { source: ofAccount, at: (d) => d.addedAt, words: (d) => `${d.userId} ${d.name}` },
  CreditGranted: {
    source: ofAccount,
    at: (d) => d.grantedAt,
    moves: ({ grantId: sourceId, tenantId, currency, amount, reason, grantedAt }) => [
      { kind: 'granted', sourceId, tenantId, currency, amount, reason, grantedAt },
    ],
    words: (d) => `${d.grantId}: ${d.reason}`,
  },
  CreditLimitSet: {
    source: ofAccount,
    at: (d) => d.setAt,
    moves: ({ tenantId, currency, limit }) => [{ kind: 'limit_set', tenantId, currency, limit }],
    words: noDescription,
  },
  AdjustmentPosted: {
    source: ofAccount,
    at: (d) => d.postedAt,
    moves: ({ adjustmentId: sourceId, tenantId, currency, amount, corrects, reason, postedAt }) => [
      { kind: 'adjusted', sourceId, tenantId, currency, amount, corrects, reason, postedAt },
    ],
    words: ({ corrects, reason }) =>
      `${corrects.kind === 'line' ? corrects.lineId : corrects.grantId}: ${reason}`,
  },
  // It moves nothing: quotes that were given before stay.
  AccountPricesSet: {
    source: ofAccount,
    at: (d) => d.setAt,
    words: ({ revision, multiplier, prices }) =>
      multiplier === undefined && prices.length === 0
        ? `list prices again (${revision})`
        : `${multiplier === undefined ? '' : `list × ${multiplier}, `}${prices.length} own prices (${revision})`,
  },
  BudgetsSet: {
    source: ofAccount,
    at: (d) => d.setAt,
    words: ({ revision, budgets, timeZone }) =>
      `${budgets.length === 1 ? '1 budget' : `${budgets.length} budgets`} by the days of ${timeZone} (${revision})`,
  },
  BalanceAlertsSet: {
    source: ofAccount,
    at: (d) => d.setAt,
    words: ({ revision, thresholds, webhookUrl }) =>
      thresholds.length === 0
        ? `none (${revision})`
        : `below ${thresholds.map(({ currency, below }) => `${below} ${currency}`).join(', ')}${
            webhookUrl === undefined ? '' : ` to ${webhookUrl}`
          } (${revision})`,
  },
  LimitsSet: {
    source: ofAccount,
    at: (d) => d.setAt,
    words: ({ revision, limits }) =>
      limits.length === 0
        ? `no limits (${revision})`
        : `limits of ${limits.map(({ subject }) => limitedName(subject)).join(', ')} (${revision})`,
  },
}

type AccountEventType = keyof typeof accountEvents
export type AccountEventData<T extends AccountEventType> = Static<(typeof accountEvents)[T]>
export type AccountEvent = {
  readonly [T in AccountEventType]: { readonly type: T; readonly data: AccountEventData<T> }
}[AccountEventType]
export type SettingEvent = Extract<AccountEvent, { readonly type: keyof typeof settingEvents }>

/** Whether an event sets a setting of an account. */
export function isSettingEvent<Event extends { readonly type: string }>(
  event: Event,
): event is Extract<Event, { readonly type: SettingEvent['type'] }> {
  return Object.hasOwn(settingEvents, event.type)
}

/** How the names of these streams begin. */
export const accountStreams = 'account-'

/** Name of the stream of one tenant's account. */
export function accountStream(tenantId: string): string {
  return `${accountStreams}${tenantId}`
}
