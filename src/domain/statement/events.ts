import { type Static, Type } from '@sinclair/typebox'
import { PersonSchema } from '../account/postings.ts'
import type { FactsOf } from '../event-facts.ts'
import { CurrencySchema, DecimalSchema } from '../pricing/settlement.ts'

/** Usage of a statement by SKU has at most so many rows: those of the least amounts are one row, `other`. */
export const MAX_SUMS = 1_000
/** Refunds of a period by the statement of their lines: one for each month of twenty years. */
export const MAX_REFUNDED_STATEMENTS = 240

const CountSchema = Type.Integer({ minimum: 0 })
const NumberSchema = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })

/** Names a close: of a tenant and currency, the month by its number, and how often it was closed. */
const closeMembers = {
  tenantId: Type.String(),
  currency: CurrencySchema,
  /** The first month of a currency is 1. */
  n: NumberSchema,
  /** Above 1 where the month was closed before and voided. */
  attempt: NumberSchema,
  /** The number of the statement; no two closes of a tenant have the same. */
  statement: Type.String(),
} as const

/** Usage of one SKU. */
export const SumBySkuSchema = Type.Object({
  sku: Type.String(),
  /** Null, as the quantity, where lines of the SKU differ in their unit. */
  unit: Type.Union([Type.String(), Type.Null()]),
  quantity: Type.Union([CountSchema, Type.Null()]),
  /** The cost of the lines: not negative. */
  amount: DecimalSchema,
  lines: CountSchema,
})
export type SumBySku = Static<typeof SumBySkuSchema>

/** Refunds of a period by the statement that has the refunded lines. */
export const RefundedStatementSchema = Type.Object({
  /** Null: the lines are of this period, or of one that has no statement. */
  statement: Type.Union([Type.String(), Type.Null()]),
  amount: DecimalSchema,
  postings: CountSchema,
})
export type RefundedStatement = Static<typeof RefundedStatementSchema>

/** Costs that are not settled at the end of a period. */
export const AccrualsSchema = Type.Object({
  /** Held for requests that run. */
  held: DecimalSchema,
  /** Spent by calls without a settlement yet. */
  unstated: DecimalSchema,
})
export type Accruals = Static<typeof AccrualsSchema>

/** A close in spite of what the last audit found, or of its age. */
export const DespiteSchema = Type.Object({
  codes: Type.Array(Type.String()),
  reason: Type.String(),
})
export type Despite = Static<typeof DespiteSchema>

/** Closed months of a tenant in one currency each, and the ends of those that were voided. */
export const statementEvents = {
  /** Each figure is what it adds to the balance, so that `settled` is negative. */
  PeriodClosed: Type.Object({
    ...closeMembers,
    /** `YYYY-MM`, of the time zone. */
    month: Type.String(),
    timeZone: Type.String(),
    /** RFC 3339 with the offset of the zone: the `to` of the period before. */
    from: Type.String(),
    /** RFC 3339 with the offset of the zone, exclusive. */
    to: Type.String(),
    /** Position of the ledger: postings that it did not have yet are of a later period. */
    position: Type.String({ pattern: '^\\d{1,20}$' }),
    opening: DecimalSchema,
    granted: Type.Object({ paid: DecimalSchema, promotional: DecimalSchema }),
    /** Corrections of settled lines, and of grants. */
    adjusted: Type.Object({ usage: DecimalSchema, grants: DecimalSchema }),
    expired: DecimalSchema,
    settled: DecimalSchema,
    closing: DecimalSchema,
    lines: CountSchema,
    /** Lines, grants, adjustments and expiries. */
    postings: CountSchema,
    /** The number of postings that are dated before `from`. */
    late: CountSchema,
    sums: Type.Array(SumBySkuSchema, { maxItems: MAX_SUMS }),
    refunds: Type.Array(RefundedStatementSchema, { maxItems: MAX_REFUNDED_STATEMENTS }),
    accruals: AccrualsSchema,
    /** Revision of the tenant's billing profile that the statement shows. */
    profile: NumberSchema,
    /** Revision of the issuer's profile that the statement shows. */
    issuer: NumberSchema,
    /** The standing period before; absent: it is the first one. */
    previous: Type.Optional(Type.Object({ n: NumberSchema, root: Type.String() })),
    /** Root of the tree of all postings, base64. */
    root: Type.String(),
    /** The signed head of the tree, a note of several lines. */
    checkpoint: Type.String(),
    despite: Type.Optional(DespiteSchema),
    /** Absent: a shell. */
    by: Type.Optional(PersonSchema),
    closedAt: Type.String(),
  }),
  VoidProposed: Type.Object({
    ...closeMembers,
    reason: Type.String(),
    /** Absent: a shell. */
    by: Type.Optional(PersonSchema),
    proposedAt: Type.String(),
    /** No approval is possible from this time on; the lapse itself is no event. */
    expiresAt: Type.String(),
  }),
  /** The statement is void, and its month can be closed again. */
  PeriodVoided: Type.Object({
    ...closeMembers,
    /** That of the proposal. */
    reason: Type.String(),
    proposedBy: Type.Optional(PersonSchema),
    /** Another user than the proposer. */
    by: PersonSchema,
    voidedAt: Type.String(),
  }),
  VoidRejected: Type.Object({
    ...closeMembers,
    by: Type.Optional(PersonSchema),
    reason: Type.String(),
    rejectedAt: Type.String(),
  }),
} as const

const ofAccount = (): undefined => undefined

export const statementFacts: FactsOf<typeof statementEvents> = {
  PeriodClosed: {
    source: ofAccount,
    at: (d) => d.closedAt,
    words: (d) => `${d.statement}: ${d.month}, from ${d.opening} to ${d.closing} ${d.currency}`,
  },
  VoidProposed: {
    source: ofAccount,
    at: (d) => d.proposedAt,
    words: (d) => `${d.statement}: ${d.reason}`,
  },
  PeriodVoided: {
    source: ofAccount,
    at: (d) => d.voidedAt,
    words: (d) => `${d.statement}: ${d.reason}`,
  },
  VoidRejected: {
    source: ofAccount,
    at: (d) => d.rejectedAt,
    words: (d) => `${d.statement}: ${d.reason}`,
  },
}

type StatementEventType = keyof typeof statementEvents
type StatementEventData<T extends StatementEventType> = Static<(typeof statementEvents)[T]>
export type PeriodClosed = StatementEventData<'PeriodClosed'>
export type VoidProposed = StatementEventData<'VoidProposed'>
export type StatementEvent = {
  readonly [T in StatementEventType]: { readonly type: T; readonly data: StatementEventData<T> }
}[StatementEventType]

/** Names a close of a tenant in ids and in the read model. */
export function periodIdOf({
  currency,
  n,
  attempt,
}: Pick<PeriodClosed, 'currency' | 'n' | 'attempt'>): string {
  return `${currency}/${n}/${attempt}`
}

/** Prefix of the names of these streams. */
export const statementStreams = 'statements-'

/** Name of the stream of the closes of one tenant, of all currencies. */
export function statementStream(tenantId: string): string {
  return `${statementStreams}${tenantId}`
}
