import { Type, type Static } from '@sinclair/typebox'
import { CurrencySchema, DecimalSchema } from '../pricing/settlement.ts'

/** What an adjustment corrects: a settled line of the ledger, or credit that was granted. */
const CorrectsSchema = Type.Union([
  Type.Object({ kind: Type.Literal('line'), lineId: Type.String() }),
  Type.Object({ kind: Type.Literal('grant'), grantId: Type.String() }),
])
export type Corrects = Static<typeof CorrectsSchema>

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
    grantedAt: Type.String(),
  }),
  /** How far below zero the balance may go; absent means prepaid (zero). */
  CreditLimitSet: Type.Object({
    tenantId: Type.String(),
    currency: CurrencySchema,
    limit: DecimalSchema,
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
} as const

export type AccountEventType = keyof typeof accountEvents
export type AccountEventData<T extends AccountEventType> = Static<(typeof accountEvents)[T]>
export type AccountEvent = {
  readonly [T in AccountEventType]: { readonly type: T; readonly data: AccountEventData<T> }
}[AccountEventType]

/** How the names of these streams begin. */
export const accountStreams = 'account-'

/** Name of the stream of one tenant's account. */
export function accountStream(tenantId: string): string {
  return `${accountStreams}${tenantId}`
}
