import { Type } from 'typebox'

/** Shapes of quotes. */

export const QuoteBodySchema = Type.Object(
  {
    path: Type.String({ description: 'The path of the creation, such as `/v1/videos`.' }),
    body: Type.Object(
      {},
      { additionalProperties: true, description: 'What would be sent there, as JSON.' },
    ),
  },
  {
    additionalProperties: false,
    examples: [
      {
        path: '/v1/chat/completions',
        body: { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] },
      },
    ],
  },
)

const Decimal = Type.String({ description: 'Exact decimal string.' })

export const QuoteSchema = Type.Object({
  object: Type.Literal('quote'),
  path: Type.String(),
  currency: Type.Enum(['CNY', 'USD']),
  hold: Type.String({
    description: 'Kept from the balance while it runs; the settlement follows from what is used.',
  }),
  price_book: Type.String({ description: 'Version of the price book in effect.' }),
  lines: Type.Array(
    Type.Object({
      sku: Type.String(),
      rule: Type.String({ description: 'Name of the rule that chose the SKU.' }),
      unit: Type.String(),
      price: Decimal,
      per: Type.Integer({ description: 'Units the price is for.' }),
      account_prices: Type.Union([Type.Integer(), Type.Null()], {
        description: "Which of the tenant's own prices it is; null for that of the price book.",
      }),
    }),
    { description: 'Every SKU it can be settled at.' },
  ),
})
