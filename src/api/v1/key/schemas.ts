import { Type } from 'typebox'
import { BudgetSchema } from '../../kit/balances.ts'

const figures = {
  limit: Type.Integer(),
  used: Type.Integer(),
  remaining: Type.Integer(),
}
const PerMinute = Type.Union([
  Type.Object({
    ...figures,
    reset_ms: Type.Integer({ description: 'Until nothing is used, in milliseconds.' }),
  }),
  Type.Null(),
])

const AtATime = Type.Union([Type.Object(figures), Type.Null()])
const Limits = (description: string) =>
  Type.Object(
    {
      requests_per_minute: PerMinute,
      tokens_per_minute: PerMinute,
      concurrent_calls: AtATime,
      concurrent_tasks: AtATime,
    },
    { description },
  )

/** A token as it sees itself; a limit that it does not have is null. */
export const KeySchema = Type.Object({
  object: Type.Literal('key'),
  id: Type.String({ description: 'Of the token; the secret itself is shown nowhere.' }),
  name: Type.String(),
  last_four: Type.String({ description: 'How the secret ends.' }),
  tenant_id: Type.String(),
  user_id: Type.String(),
  models: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'Those it may use; null: all.',
  }),
  addresses: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'Addresses and ranges of them it may be used from; null: anywhere.',
  }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  expires_at: Type.Union([Type.Integer(), Type.Null()], { description: 'Unix seconds.' }),
  limits: Limits('Of the token.'),
  user_limits: Limits('Of its user, with all its tokens together.'),
  tenant_limits: Limits('Of its tenant, with all its users together.'),
  budgets: Type.Array(BudgetSchema, { description: 'Of the token and of its user.' }),
})
