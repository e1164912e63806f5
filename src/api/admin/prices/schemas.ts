import { Type } from 'typebox'
import { maxPriceEntries } from '../../../domain/pricing/price-book-document.ts'
import { successOf } from '../../kit/account-surface.ts'
import { NextCursor } from '../../kit/queries.ts'

/** Shapes of price books and of prices. Their readers check names and figures. */

/** A formatted document with the most prices allowed is smaller. */
export const PRICES_LIMIT_BYTES = 2 * 1024 * 1024

export const strict = { additionalProperties: false } as const
export const Percent = Type.Union([Type.String(), Type.Null()], {
  description: 'The change in per cent, with a sign and two decimals; null from a price of 0.',
  examples: ['+1.09'],
})
const Version = Type.String({
  description: 'Up to 128 letters, digits, dots, dashes, `_` and `+`; a book never changes.',
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
export const ownPrice = {
  sku: Type.String(),
  currency: Type.Enum(['CNY', 'USD']),
  ...perUnits,
}
const listPrice = {
  ...ownPrice,
  demonstration: Type.Optional(Type.Boolean({ description: 'Only the sandbox sells at it.' })),
}
const Price = Type.Object(listPrice, { named: 'Price' })

export const NoParametersSchema = Type.Object({}, strict)
export const BookParamsSchema = Type.Object({ version: Type.String() })
export const DifferenceQuerySchema = Type.Object({
  against: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Version of the book that is before: what changes from it to this one.',
  }),
})
export const NewBookSchema = Type.Object(
  {
    version: Version,
    effective_from: EffectiveFrom,
    prices: Type.Array(Type.Object(listPrice, strict), {
      minItems: 1,
      maxItems: maxPriceEntries,
      description: 'All of its prices, each SKU once in a currency.',
    }),
    demonstrations: Type.Optional(
      Type.Boolean({
        description:
          'Keep its demonstration prices. Without it they are left out, and where there are any the version ends in `-list`.',
      }),
    ),
    confirm: Type.Optional(
      Type.Boolean({
        description:
          'Publish it also where it takes prices away, or changes them at once or never.',
      }),
    ),
  },
  {
    named: 'NewPriceBook',
    ...strict,
    examples: [
      {
        version: '2027-01',
        effective_from: '2027-01-01T00:00:00Z',
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
  unchanged: Type.Integer({ description: 'How many are the same in both.' }),
}
const Publisher = Type.Union([Type.String(), Type.Null()], {
  description: 'Who had it published: the id of an admin token, or whom a command named.',
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
          description: '`replaced`: another is in effect instead, or will be.',
        }),
        price_count: Type.Integer(),
      }),
      { description: 'The latest to begin first.' },
    ),
    next_cursor: NextCursor,
  }),
)
export const BookAnswerSchema = successOf(
  Type.Object({ ...book, prices: Type.Array(Price, { description: 'By SKU and currency.' }) }),
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
    changed: Type.Boolean({ description: 'false: exactly this book was published before.' }),
    takes_effect: Type.Enum(['at_once', 'later', 'never'], {
      description: '`never`: when it would begin, one that begins later is in effect.',
    }),
    replaces: Type.Union([Type.String(), Type.Null()], {
      description: 'The version in effect when it begins.',
    }),
    difference: Type.Object(difference, { description: 'From the prices of `replaces`.' }),
    unpriced: Type.Array(
      Type.Object({
        model: Type.String(),
        skus: Type.Array(Type.String()),
        sold_now: Type.Boolean(),
      }),
      { description: 'Served models that it has not all prices of.' },
    ),
    unsold: Type.Array(
      Type.Object({
        sku: Type.String(),
        meant: Type.Union([Type.String(), Type.Null()], {
          description: 'The nearest SKU that is sold.',
        }),
      }),
      { description: 'Of the prices it adds, SKUs that nothing sells.' },
    ),
  }),
)
