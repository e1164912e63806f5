import { Type, type Static } from '@sinclair/typebox'
import type { FactsOf } from '../event-facts.ts'
import { CurrencySchema, PerSchema, PriceSchema } from './settlement.ts'

export const PriceEntrySchema = Type.Object({
  sku: Type.String(),
  currency: CurrencySchema,
  unit: Type.String(),
  price: PriceSchema,
  per: PerSchema,
  /** True for figures that only demonstrate: the sandbox default loads them, production must not. */
  demonstration: Type.Optional(Type.Boolean()),
})
export type PriceEntry = Static<typeof PriceEntrySchema>

export const priceBookEvents = {
  PriceBookPublished: Type.Object({
    version: Type.String(),
    effectiveFrom: Type.String(),
    publishedAt: Type.String(),
    /** SHA-256 of the canonical entries: publishing the same book again decides to no event. */
    digest: Type.String(),
    entries: Type.Array(PriceEntrySchema),
  }),
} as const

export const priceBookFacts: FactsOf<typeof priceBookEvents> = {
  PriceBookPublished: {
    source: () => undefined,
    at: (d) => d.publishedAt,
    words: (d) => d.version,
  },
}

export type PriceBookPublished = Static<typeof priceBookEvents.PriceBookPublished>
export type PriceBookEvent = {
  readonly type: 'PriceBookPublished'
  readonly data: PriceBookPublished
}

export const priceBookStream = 'pricebook'
