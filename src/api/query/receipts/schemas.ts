import { Type } from 'typebox'
import { AnsweredAsOf, AsOf, labelMembers } from '../schemas.ts'

/** Shapes of receipts. */

const Decimal = Type.String({ description: 'Exact decimal string.', examples: ['5.0094'] })
const orNull = (schema: ReturnType<typeof Type.String>) => Type.Union([schema, Type.Null()])

export const ReceiptParamsSchema = Type.Object({
  id: Type.String({
    description:
      'Id of a call, platform or native id of a task, id of a request, or `line_id` of the ledger.',
  }),
})

export const ReceiptQuerySchema = Type.Object({ as_of: Type.Optional(AsOf) })

const LineSchema = Type.Object(
  {
    line_id: Type.String(),
    sku: Type.String(),
    rule: Type.String({ description: 'Name of the rule that chose the SKU.' }),
    quantity: Type.Integer({ minimum: 0 }),
    unit: Type.String(),
    price: Decimal,
    per: Type.Integer({ description: 'Number of units that the price is for.' }),
    account_prices: Type.Union([Type.Integer(), Type.Null()], {
      description:
        "Revision of the tenant's prices that this price comes from; null for a price of the price book.",
    }),
    amount: Decimal,
    formula: Type.String({ examples: ['108900 × 46 ÷ 1000000 = 5.0094'] }),
    measurement: Type.Enum(['reported', 'estimated']),
    adjusted: Decimal,
    hash: Type.String({
      description: 'Hash of this line in the hash chain of the ledger, SHA-256 in hex.',
    }),
  },
  { named: 'ReceiptLine' },
)

const CorrectionSchema = Type.Object(
  {
    adjustment_id: Type.String(),
    line_id: Type.String(),
    amount: Type.String({ description: 'Exact decimal; positive if the tenant got credit back.' }),
    reason: Type.String(),
    posted_at: Type.String(),
    actor: Type.Optional(
      orNull(
        Type.String({
          description: 'Who posted it; only for tokens with the scope `all_tenants`.',
        }),
      ),
    ),
  },
  { named: 'ReceiptCorrection' },
)

export const ReceiptSchema = Type.Object(
  {
    id: Type.String({ description: '`source_id` of its ledger lines.' }),
    object: Type.Literal('receipt'),
    kind: Type.Enum(['task', 'call']),
    state: Type.Enum(['settled', 'not_billed', 'running', 'unknown', 'awaiting_usage'], {
      description:
        '`unknown`: whether the provider took it; `awaiting_usage`: it made the result and has not said what was used.',
    }),
    verdict: Type.String({ description: 'The state in a sentence.' }),
    tenant_id: Type.String(),
    user_id: Type.String(),
    token_id: Type.String(),
    request_id: Type.String(),
    native_id: orNull(Type.String()),
    surface: Type.String(),
    model: Type.String(),
    ...labelMembers,
    currency: orNull(Type.String()),
    amount: Decimal,
    adjusted: Decimal,
    net: Type.String({ description: '`amount` less `adjusted`.' }),
    as_of: AnsweredAsOf,
    held: Type.String({ description: 'Amount held then; `0` once the task or call has ended.' }),
    price_book_version: orNull(Type.String()),
    measurement: orNull(Type.String({ description: '`reported`, `estimated` or `mixed`.' })),
    lines: Type.Array(LineSchema),
    corrections: Type.Array(CorrectionSchema, { description: 'Oldest first; at most 1000.' }),
    timeline: Type.Array(
      Type.Object({ position: Type.String(), type: Type.String(), at: Type.String() }),
      { description: 'Every event, oldest first.' },
    ),
  },
  { named: 'Receipt' },
)

export const ReceiptAnswerSchema = Type.Object(
  { success: Type.Literal(true), message: Type.String(), data: ReceiptSchema },
  { description: 'Success.' },
)
