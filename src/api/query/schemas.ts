import { Type } from 'typebox'
import { DEFAULT_PAGE_LINES, MAX_PAGE_LINES } from '../kit/answers/lists.ts'
import { successOf } from '../kit/routes/account-surface.ts'

/** Shapes of the finance and support queries. */

/** Printable, bounded text: stored ids and names have no other form. */
const NAME_PATTERN = '^[\\x20-\\x7e]{1,128}$'
const NAME_WORDS = 'must have 1 to 128 ASCII characters'
export const Name = Type.String({ pattern: NAME_PATTERN, words: NAME_WORDS })
/** A filter by a stored id or name. */
export const NameOf = (description: string) =>
  Type.Optional(Type.String({ pattern: NAME_PATTERN, words: NAME_WORDS, description }))
export const Decimal = Type.String({ description: 'Exact decimal string.', examples: ['0.0462'] })
export const TextOrNull = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description })
export const Quantity = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Number of units.',
})
/** The position of the log at which the answer is true, as lines have it. */
const Position = (description: string) =>
  Type.String({
    pattern: '^(?:0|[1-9]\\d{0,17})$',
    words: 'must be a log position: digits, such as 1234',
    description,
  })
export const AsOf = Position('A log position: the answer shows everything as of it.')
export const Since = Position(
  'A log position: only what was posted after it, such as `as_of` of the report before.',
)
/** The log position of an answer. */
export const AnsweredAsOf = Type.String({
  description:
    'Log position that the answer is as of; send it as `as_of` to get the same answer again.',
})
export const Cursor = Type.Optional(
  Type.String({ maxLength: 256, description: '`next_cursor` of the previous page.' }),
)
export const Limit = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: MAX_PAGE_LINES,
    description: `JSON: items per page, ${DEFAULT_PAGE_LINES} by default. Files: absent means all.`,
  }),
)

/** Sums of a currency: what was charged, what was refunded, and what is left. */
export const totalMembers = {
  currency: Type.String({ description: 'Currencies are never added up.' }),
  requests: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Requests that cost something; null for parts of results, as of one SKU.',
  }),
  lines: Type.Integer(),
  amount: Type.String({ description: 'Exact decimal: what was charged.', examples: ['5.0094'] }),
  refunded: Type.String({
    description: 'Exact decimal: the refunds of this time, of these or of earlier lines.',
    examples: ['2.5'],
  }),
  net: Type.String({ description: '`amount` less `refunded`.', examples: ['2.5094'] }),
} as const

/** Sums of a group of lines. */
export const sumMembers = {
  ...totalMembers,
  unit: Type.Union([Type.String(), Type.Null()]),
  quantity: Type.Union([Type.String({ pattern: '^\\d+$' }), Type.Null()], {
    description:
      'Number of units, a decimal string as the sum may be of any size; null where the units differ.',
    examples: ['217800'],
  }),
} as const

/** Labels of a request, as lines, logs and receipts show them. */
export const labelMembers = {
  tags: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()], {
    description: 'Tags of the request whose keys the tenant had declared.',
  }),
  end_user: Type.Union([Type.String(), Type.Null()], {
    description: "The tenant's id of its end user, where it records these.",
  }),
} as const

export const LedgerLineSchema = Type.Object(
  {
    line_id: Type.String(),
    settled_at: Type.String(),
    tenant_id: Type.String(),
    user_id: Type.String(),
    token_id: Type.String(),
    source_id: Type.String({ description: 'Platform id of the task, or id of the call.' }),
    native_id: Type.Union([Type.String(), Type.Null()]),
    surface: Type.String(),
    model: Type.String(),
    sku: Type.String(),
    rule: Type.String({ description: 'Name of the rule that chose the SKU.' }),
    quantity: Quantity,
    unit: Type.String(),
    price: Decimal,
    per: Type.Integer({ description: 'Number of units that the price is for.' }),
    currency: Type.String(),
    amount: Decimal,
    price_book_version: Type.String(),
    measurement: Type.String({ description: '`reported` or `estimated`.' }),
    request_id: Type.String(),
    position: Type.String({ description: 'Position of the settlement in the log.' }),
    adjusted: Type.String({
      description: 'Sum of the adjustments of this line: the part of the amount that was refunded.',
      examples: ['0'],
    }),
    account_prices: Type.Union([Type.Integer(), Type.Null()], {
      description:
        "Revision of the tenant's prices that this price comes from; null for a price of the price book.",
    }),
    net: Type.String({ description: '`amount` less `adjusted`.', examples: ['0.0462'] }),
    ...labelMembers,
    tenant_name: TextOrNull('Current name of the tenant.'),
    user_name: TextOrNull('Current name of the user.'),
    token_name: TextOrNull('Current name of the token.'),
  },
  { named: 'LedgerLine' },
)

export const LinesAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(LedgerLineSchema),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
    as_of: AnsweredAsOf,
  }),
)

export const HistoryParamsSchema = Type.Object({
  id: Type.String({
    description: 'Platform or native id of a task, id of a call or of a request.',
  }),
})

const HistoryEventSchema = Type.Object(
  {
    position: Type.String(),
    type: Type.String(),
    at: Type.String(),
    data: Type.Object({}, { additionalProperties: true }),
    metadata: Type.Object({}, { additionalProperties: true }),
  },
  { named: 'HistoryEvent' },
)

export const HistoryAnswerSchema = successOf(
  Type.Object(
    { items: Type.Array(HistoryEventSchema, { description: 'Every event, oldest first.' }) },
    { named: 'History' },
  ),
)
