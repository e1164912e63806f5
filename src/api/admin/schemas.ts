import { Type } from 'typebox'
import { creditKinds, reasonCodes, referenceShape } from '../../domain/account/postings.ts'
import {
  ChangeReason,
  DisplayName,
  NewId,
  Reason,
  successOf,
} from '../kit/routes/account-surface.ts'
import { BalanceAccountSchema } from '../kit/answers/balances.ts'
import { cursorMembers, NextCursor } from '../kit/routes/queries.ts'

/** Shapes of tenants, their users and their credit. */

const strict = { additionalProperties: false } as const
export const Currency = Type.Enum(['CNY', 'USD'])
export const Amount = (description: string) =>
  Type.String({
    // 15 digits before the point, as `MAX_AMOUNT_DIGITS` says.
    words: 'must be a decimal without a sign, such as "12.5"',
    pattern: '^(?:0|[1-9]\\d{0,14})(?:\\.\\d{1,12})?$',
    description,
    examples: ['100', '0.5'],
  })

const SignedAmount = (description: string) =>
  Type.String({
    words: 'must be a decimal such as "12.5" or "-12.5"',
    pattern: '^-?(?:0|[1-9]\\d{0,14})(?:\\.\\d{1,12})?$',
    description,
    examples: ['2.5', '-2.5'],
  })
const Reference = Type.String({
  pattern: referenceShape.source,
  words: 'must have 1 to 128 ASCII characters',
  description: 'The invoice or payment outside that it stands for.',
  examples: ['INV-77'],
})

export const PageQuerySchema = Type.Object(cursorMembers)
export const TenantParamsSchema = Type.Object({ tenant_id: Type.String() })

export const NewTenantSchema = Type.Object(
  {
    name: DisplayName,
    tenant_id: Type.Optional(
      NewId('Id to use instead of a generated one; repeating the request changes nothing.'),
    ),
  },
  { named: 'NewTenant', ...strict, examples: [{ tenant_id: 'acme', name: 'Acme' }] },
)
export const NewUserSchema = Type.Object(
  {
    name: DisplayName,
    user_id: Type.Optional(
      NewId('Id to use instead of a generated one; repeating the request changes nothing.'),
    ),
  },
  { named: 'NewUser', ...strict, examples: [{ user_id: 'ann', name: 'Ann' }] },
)
export const NewGrantSchema = Type.Object(
  {
    currency: Currency,
    amount: Amount('More than zero.'),
    reason: Reason,
    credit: Type.Optional(
      Type.Enum([...creditKinds], {
        description: 'Whether it was paid for or is given away; `paid` by default.',
      }),
    ),
    reference: Type.Optional(Reference),
    grant_id: Type.Optional(
      NewId(
        'Id of the grant, required without an Idempotency-Key; repeating the request with the same amount grants nothing more.',
      ),
    ),
  },
  {
    named: 'NewGrant',
    ...strict,
    examples: [{ currency: 'CNY', amount: '100', reason: 'invoice 17', grant_id: 'invoice_17' }],
  },
)
export const NewAdjustmentSchema = Type.Object(
  {
    line_id: Type.String({ maxLength: 200, description: '`line_id` of the ledger.' }),
    amount: SignedAmount('The refund; negative: a part of an earlier refund that is taken back.'),
    code: Type.Enum([...reasonCodes], { description: 'Why, for reports.' }),
    reason: Reason,
    adjustment_id: Type.Optional(
      NewId(
        'Id of the adjustment, required without an Idempotency-Key; repeating the request with the same amount moves nothing more.',
      ),
    ),
  },
  {
    named: 'NewAdjustment',
    ...strict,
    examples: [
      {
        line_id: 'call_01M8A107EWHJY6EV9EW3K1KVH7:1',
        amount: '0.004',
        code: 'quality',
        reason: 'broken picture, ticket 4711',
        adjustment_id: 'ticket_4711',
      },
    ],
  },
)
export const AdjustmentAnswerSchema = successOf(
  Type.Object({
    object: Type.Literal('adjustment'),
    id: Type.String(),
    tenant_id: Type.String(),
    line_id: Type.String(),
    currency: Currency,
    amount: Type.String(),
    net: Type.String({ description: 'What the line costs after all its adjustments.' }),
    changed: Type.Boolean({ description: 'false: this adjustment was already posted.' }),
  }),
)
export const CreditLimitSchema = Type.Object(
  {
    currency: Currency,
    amount: Amount('How far below zero the balance may go; 0 means prepaid.'),
    reason: Type.Optional(ChangeReason),
    limit_id: Type.Optional(
      NewId(
        'Id of the setting, required without an Idempotency-Key; repeating the request changes nothing, even after a later setting.',
      ),
    ),
  },
  {
    named: 'CreditLimit',
    ...strict,
    examples: [
      { currency: 'CNY', amount: '50', reason: 'contract 3, paid monthly', limit_id: 'contract_3' },
    ],
  },
)

const tenant = {
  object: Type.Literal('tenant'),
  id: Type.String(),
  name: Type.String(),
  opened_at: Type.String({ format: 'date-time', description: 'RFC 3339.' }),
  status: Type.Enum(['open', 'suspended', 'closed']),
}
export const user = {
  object: Type.Literal('user'),
  id: Type.String(),
  tenant_id: Type.String(),
  name: Type.String(),
  added_at: Type.String({ format: 'date-time', description: 'RFC 3339.' }),
  suspended: Type.Boolean({ description: 'Whether its tokens can begin nothing.' }),
  suspended_reason: Type.Union([Type.String(), Type.Null()]),
}
export const TenantAnswerSchema = successOf(Type.Object(tenant))
export const UserAnswerSchema = successOf(Type.Object(user))
export const TenantsAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(Type.Object(tenant), { description: 'Sorted by id.' }),
    next_cursor: NextCursor,
  }),
)
export const UsersAnswerSchema = successOf(
  Type.Object({
    items: Type.Array(Type.Object(user), { description: 'Sorted by id.' }),
    next_cursor: NextCursor,
  }),
)
export const CreditAnswerSchema = successOf(
  Type.Object({
    object: Type.Literal('credit'),
    tenant_id: Type.String(),
    accounts: Type.Array(BalanceAccountSchema),
    as_of: Type.Union([Type.String(), Type.Null()], {
      description: 'Log position up to which the ledger was read.',
    }),
  }),
)
export const GrantAnswerSchema = successOf(
  Type.Object({
    object: Type.Literal('credit_grant'),
    id: Type.String(),
    tenant_id: Type.String(),
    currency: Currency,
    amount: Type.String(),
    changed: Type.Boolean({ description: 'false: this grant was already posted.' }),
  }),
)
export const CreditLimitAnswerSchema = successOf(
  Type.Object({
    object: Type.Literal('credit_limit'),
    id: Type.String(),
    tenant_id: Type.String(),
    currency: Currency,
    amount: Type.String(),
    changed: Type.Boolean({
      description: 'false: this credit limit was already set under this id.',
    }),
  }),
)
