import { type Static, Type } from '@sinclair/typebox'
import { membersGiven } from '../../kernel/json.ts'
import type { Currency } from '../../kernel/money.ts'
import { CorrectsSchema, CurrencySchema, DecimalSchema } from '../pricing/settlement.ts'

/** Grants and adjustments have these members of their events in common. */

const user = { tenantId: Type.String(), userId: Type.String() } as const

/** The person who asked, by the token that was used; absent in an event: a shell of an operator. */
export const PersonSchema = Type.Object({
  ...user,
  tokenId: Type.String(),
  /**
   * Other users who issued the token or gave it a secret, directly or through others: they could
   * have used it. Absent: none, or it is not recorded here.
   */
  issuers: Type.Optional(Type.Array(Type.Object(user))),
})

export type Person = Static<typeof PersonSchema>

/** Why a refund or a correction is made, for reports; the reason says it in words. */
export const reasonCodes = [
  'duplicate',
  'quality',
  'goodwill',
  'price_error',
  'fraud',
  'other',
] as const
export const ReasonCodeSchema = Type.Union(reasonCodes.map((code) => Type.Literal(code)))
export type ReasonCode = (typeof reasonCodes)[number]

/** Whether credit was paid for or given away; an event without it is of credit that was paid. */
export const creditKinds = ['paid', 'promotional'] as const
export const CreditKindSchema = Type.Union(creditKinds.map((kind) => Type.Literal(kind)))
export type CreditKind = (typeof creditKinds)[number]

/** A reference to an invoice or a payment is printable and bounded. */
export const referenceShape = /^[\x20-\x7e]{1,128}$/

/** Lower-case hex SHA-256 of the `Idempotency-Key` a request was sent under; absent: it had none. */
export const KeyHashSchema = Type.String()

/** An amount of credit; the sign of an adjustment is that of what the tenant gets. */
const amountMembers = { currency: CurrencySchema, amount: DecimalSchema } as const

/** The terms of a grant, as its event and a proposal of it have them. */
export const grantTerms = {
  grantId: Type.String(),
  /** The amount is positive; taking back is an adjustment. */
  ...amountMembers,
  /** Absent: paid. */
  credit: Type.Optional(CreditKindSchema),
  /** The invoice or payment outside that it stands for. */
  reference: Type.Optional(Type.String()),
  reason: Type.String(),
} as const

/** The terms of an adjustment, as its event and a proposal of it have them. */
export const adjustmentTerms = {
  adjustmentId: Type.String(),
  /** The amount is signed: positive gives to the tenant. */
  ...amountMembers,
  corrects: CorrectsSchema,
  code: Type.Optional(ReasonCodeSchema),
  reason: Type.String(),
} as const

/** The terms of a credit limit, as a proposal of it has them. */
const limitTerms = {
  limitId: Type.String(),
  /** The amount is that by which it raises the limit. */
  ...amountMembers,
  limit: DecimalSchema,
  /** The limit when it was proposed. */
  before: DecimalSchema,
  reason: Type.Optional(Type.String()),
} as const

/** A grant, an adjustment or a credit limit that is proposed. */
export const PostingSchema = Type.Union([
  Type.Object({ kind: Type.Literal('grant'), ...grantTerms }),
  Type.Object({ kind: Type.Literal('adjustment'), ...adjustmentTerms }),
  Type.Object({ kind: Type.Literal('limit'), ...limitTerms }),
])

export type Posting = Static<typeof PostingSchema>

/** The id of the posting itself. */
export function postingIdOf(posting: Posting): string {
  if (posting.kind === 'limit') return posting.limitId
  return posting.kind === 'grant' ? posting.grantId : posting.adjustmentId
}

/** The amount of a posting, which counts towards the sum of its person. */
export interface CountedAmount {
  readonly by?: Person | undefined
  readonly currency: Currency
  /** A decimal; that of an adjustment may be negative. */
  readonly amount: string
  readonly atMs: number
}

/** Members of a posting as its event has them: those that are undefined are absent. */
export function postingMembers<Members extends Readonly<Record<string, unknown>>>(
  members: Members,
): { readonly [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return membersGiven(members) as { [Name in keyof Members]?: Exclude<Members[Name], undefined> }
}
