import type { Static, TSchema } from '@sinclair/typebox'
import type { CreditKind, ReasonCode } from './account/postings.ts'
import type { Corrects, Settlement } from './pricing/settlement.ts'
import type { ReportingLabels } from './reporting-labels.ts'

/**
 * The facts of an event, derived by its type; `events.ts` of each aggregate declares it with the
 * schema.
 */
export interface EventFacts<Data> {
  /** Id of the task, call, file, asset, verification or token it is about; undefined: the account itself. */
  readonly source: (data: Data) => string | undefined
  /** Time at which it happened, RFC 3339. */
  readonly at: (data: Data) => string
  /** The first event of its source: names the tenant and the user for the later ones. */
  readonly begins?: true
  /** The upstream's id of the source, where the event makes it known. */
  readonly nativeId?: (data: Data) => string
  /** Effects on the tenant's money, in order; absent: none. */
  readonly moves?: (data: Data) => readonly MoneyEffect[]
  /** One line for readers, in addition to time, type and money; may be empty. */
  readonly words: (data: Data) => string
}

/** The facts of each event of an aggregate: an event without them does not compile. */
export type FactsOf<Schemas extends Readonly<Record<string, TSchema>>> = {
  readonly [T in keyof Schemas]: EventFacts<Static<Schemas[T]>>
}

/** Facts of the event that settles a task or a call. */
export interface SettlementFacts extends ReportingLabels {
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

/** The hold of a source ends, if one is placed; the event does not say its amount. */
export interface HoldEnded {
  readonly kind: 'hold_ended'
  readonly sourceId: string
  readonly state: 'captured' | 'released'
  readonly endedAt: string
}

/** One effect of an event on the money of a tenant. */
export type MoneyEffect =
  | HoldPlaced
  | HoldEnded
  | {
      readonly kind: 'settled'
      readonly sourceId: string
      readonly nativeId: string | null
      readonly settled: SettlementFacts
    }
  /** The amount is positive; the source is the grant. */
  | (Given & {
      readonly kind: 'granted'
      readonly credit: CreditKind
      readonly reference: string | undefined
      readonly reason: string
      readonly grantedAt: string
    })
  /** The amount is signed: positive gives to the tenant; the source is the adjustment. */
  | (Given & {
      readonly kind: 'adjusted'
      readonly corrects: Corrects
      readonly code: ReasonCode | undefined
      readonly reason: string
      readonly postedAt: string
    })
  | {
      readonly kind: 'limit_set'
      readonly tenantId: string
      readonly currency: Settlement['currency']
      /** Decimal string: the limit from now on. */
      readonly limit: string
    }

/** The empty description, of an event whose type and time say everything. */
export const noDescription = (): string => ''

/** Words of a refusal or a failure. */
export const failureWords = (failure: {
  readonly code: string
  readonly message: string
}): string => `${failure.code}: ${failure.message}`

/** Describes a settlement: its lines without their prices. */
export const settlementWords = ({ lines }: Settlement): string =>
  lines.map(({ sku, quantity, unit }) => `${quantity} ${unit} ${sku}`).join(', ')

/** Members by name: the timeline keeps another order than the event. */
export const sortedMembers = <T>(
  members: Readonly<Record<string, T>>,
): readonly (readonly [string, T])[] => Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1))
