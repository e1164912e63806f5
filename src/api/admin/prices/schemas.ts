import { Type } from 'typebox'
import type { PriceEntry } from '../../../domain/pricing/events.ts'
import { maxPriceEntries } from '../../../domain/pricing/price-book-document.ts'
import { successOf } from '../../kit/routes/account-surface.ts'
import { NextCursor } from '../../kit/routes/queries.ts'

/** Shapes of price books and of prices. Their readers check names and figures. */

/** A formatted document with the most prices allowed is smaller. */
export const PRICES_LIMIT_BYTES = 2 * 1024 * 1024

export const strict = { additionalProperties: false } as const
export const Percent = Type.Union([Type.String(), Type.Null()], {
  description: 'Change in per cent, with a sign and two decimals; null where the price was 0.',
  examples: ['+1.09'],
})
const Version = Type.String({
  description:
    'Up to 128 letters, digits, dots, dashes, `_` and `+`. The content of a version never changes.',
})
const EffectiveFrom = Type.String({
  description: 'RFC 3339: when it takes effect.',
  examples: ['2027-01-01T00:00:00Z'],
})
export const perUnits = {
  unit: Type.String({ examples: ['token'] }),
  per: Type.Enum([1, 1_000, 1_000_000], { description: 'Units that the price is for.' }),
  price: Type.String({
    description: 'Decimal of at most 9 digits before and 6 after the point.',
    examples: ['4.3'],
  }),
}
export const PerUnits = Type.Object(perUnits, { named: 'PricePerUnits' })
export const toPerUnits = (price: PriceEntry | undefined) =>
  price === undefined ? null : { unit: price.unit, per: price.per, price: price.price }
export const ownPrice = {
  sku: Type.String(),
  currency: Type.Enum(['CNY', 'USD']),
  ...perUnits,
}
const listPrice = {
  ...ownPrice,
  demonstration: Type.Optional(Type.Boolean({ description: 'true: applies on the sandbox only.' })),
}
const Price = Type.Object(listPrice, { named: 'Price' })

export const NoParametersSchema = Type.Object({}, strict)
export const BookParamsSchema = Type.Object({ version: Type.String() })
export const DifferenceQuerySchema = Type.Object({
  against: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Version to compare with: the answer has the changes from it to this one.',
  }),
})
export const NewBookSchema = Type.Object(
  {
    version: Version,
    effective_from: EffectiveFrom,
    prices: Type.Array(Type.Object(listPrice, strict), {
      minItems: 1,
      maxItems: maxPriceEntries,
      description: 'All prices of the book; each SKU at most once per currency.',
    }),
    demonstrations: Type.Optional(
      Type.Boolean({
        description:
          'true: keep demonstration prices. Otherwise they are left out, and if there were any, `-list` is appended to the version.',
      }),
    ),
    confirm: Type.Optional(
      Type.Boolean({
        description:
          'true: publish the book although it removes prices, takes effect at once, or never takes effect.',
      }),
    ),
  },
  {
    named: 'NewPriceBook',
    ...strict,
    examples: [
      {
        // A book replaces the one before, with every price: so far ahead, an example does no harm.
        version: '2099-01',
        effective_from: '2099-01-01T00:00:00Z',
        confirm: true,
        prices: [
          { sku: 'web-search-call', currency: 'USD', unit: 'call', per: 1_000, price: '12' },
        ],
      },
    ],
  },
)

const difference = {
  added: Type.Array(Price),
  removed: Type.Array(Price),
  changed: Type.Array(
    Type.Object({ before: Price, after: Price, percent: Percent }, { named: 'PriceChange' }),
  ),
  unchanged: Type.Integer({ description: 'Number of prices that are equal in both.' }),
}
const Publisher = Type.Union([Type.String(), Type.Null()], {
  description: 'Who published it: the id of an admin token, or the actor of a command.',
})
const book = {
  object: Type.Literal('price_book'),
  version: Version,
  effective_from: EffectiveFrom,
  published_at: Type.String({ format: 'date-time', description: 'RFC 3339.' }),
  published_by: Publisher,
}
export const BooksAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(
      Type.Object({
        ...book,
        state: Type.Enum(['in_effect', 'upcoming', 'replaced'], {
          description:
            '`replaced`: a later book is in effect, or will be when this one would begin.',
        }),
        price_count: Type.Integer(),
      }),
      { description: 'Sorted by `effective_from`, latest first.' },
    ),
    next_cursor: NextCursor,
  }),
)
export const BookAnswerSchema = successOf(
  Type.Object({
    ...book,
    prices: Type.Array(Price, { description: 'Sorted by SKU and currency.' }),
  }),
)
export const DifferenceAnswerSchema = successOf(
  Type.Object({
    object: Type.Literal('price_book_difference'),
    version: Version,
    against: Type.String(),
    ...difference,
  }),
)
export const PublicationAnswerSchema = successOf(
  Type.Object({
    object: Type.Literal('price_book_publication'),
    version: Version,
    effective_from: EffectiveFrom,
    changed: Type.Boolean({ description: 'false: exactly this book was already published.' }),
    takes_effect: Type.Enum(['at_once', 'later', 'never'], {
      description: '`never`: a book with a later `effective_from` is already in effect by then.',
    }),
    replaces: Type.Union([Type.String(), Type.Null()], {
      description: 'Version that is in effect until it begins.',
    }),
    difference: Type.Object(difference, { description: 'Changes from the prices of `replaces`.' }),
    unpriced: Type.Array(
      Type.Object({
        model: Type.String(),
        skus: Type.Array(Type.String()),
        sold_now: Type.Boolean(),
      }),
      { description: 'Served models for which the book lacks prices.' },
    ),
    unsold: Type.Array(
      Type.Object({
        sku: Type.String(),
        meant: Type.Union([Type.String(), Type.Null()], {
          description: 'Sold SKU with the most similar name.',
        }),
      }),
      { description: 'SKUs of added prices that no model or tool is sold at.' },
    ),
  }),
)
