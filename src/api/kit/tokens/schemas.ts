import { Type } from 'typebox'
import { MAX_OVERLAP_MS } from '../../../app/accounts/account-commands.ts'
import { MAX_TOKEN_ADDRESSES } from '../../../domain/token/addresses.ts'
import { MAX_TOKEN_LIMIT, tokenRoles } from '../../../domain/token/events.ts'
import { MAX_SUBJECT_LENGTH } from '../../../domain/token/subject.ts'
import { ChangeReason, DisplayName, KnownId, successOf } from '../routes/account-surface.ts'
import { NextCursor } from '../routes/queries.ts'

/** Shapes of tokens, shared by the surfaces that manage them. */

const MAX_MODELS = 100
export const DEFAULT_OVERLAP_S = 3_600

const strict = { additionalProperties: false } as const

const figure = Type.Integer({ minimum: 1, maximum: MAX_TOKEN_LIMIT })
const Limit = Type.Union([figure, Type.Null(), Type.Literal('default')], {
  description: 'null: no limit; `default`: the limit that the operator set for all tokens.',
})
const limits = {
  requests_per_minute: Limit,
  tokens_per_minute: Limit,
  concurrent_calls: Limit,
  concurrent_tasks: Limit,
}
const LimitsBody = Type.Object(
  {
    requests_per_minute: Type.Optional(Limit),
    tokens_per_minute: Type.Optional(Limit),
    concurrent_calls: Type.Optional(Limit),
    concurrent_tasks: Type.Optional(Limit),
  },
  {
    named: 'TokenLimitChanges',
    ...strict,
    description: 'Limits of a model token; those that are absent are unchanged.',
  },
)

const ModelsBody = Type.Union(
  [Type.Array(KnownId, { minItems: 1, maxItems: MAX_MODELS }), Type.Null()],
  { description: 'Names of the models that a model token may use; null: all.' },
)

const AddressesBody = Type.Union(
  [
    Type.Array(Type.String({ minLength: 2, maxLength: 49 }), {
      minItems: 1,
      maxItems: MAX_TOKEN_ADDRESSES,
    }),
    Type.Null(),
  ],
  {
    description:
      'IP addresses and CIDR ranges (such as 203.0.113.0/24) that the token may be used from; null: anywhere.',
  },
)

const ExpiryBody = Type.Union(
  [
    Type.String({ maxLength: 40, documented: { type: 'string', format: 'date-time' } }),
    Type.Null(),
  ],
  {
    description: 'When the token expires: RFC 3339, such as 2027-01-02T03:04:05Z; null: never.',
  },
)

/** Settings of a token that can be given when it is issued, and changed later. */
const tokenMembers = {
  models: Type.Optional(ModelsBody),
  addresses: Type.Optional(AddressesBody),
  limits: Type.Optional(LimitsBody),
  expires_at: Type.Optional(ExpiryBody),
} as const

const levels = ['current_user', 'specified_users', 'all_users', 'all_tenants'] as const
const MAX_NAMED_USERS = 100

const ScopeBody = Type.Object(
  {
    level: Type.Enum([...levels]),
    user_ids: Type.Optional(
      Type.Array(KnownId, {
        minItems: 1,
        maxItems: MAX_NAMED_USERS,
        description: 'Required with `specified_users`, and allowed only with it.',
      }),
    ),
  },
  {
    named: 'NewTokenScope',
    ...strict,
    description:
      'What a query token reads, `current_user` by default. An admin token needs `all_users` (its tenant) or `all_tenants`.',
  },
)

/** Settings of a token to be issued. */
const newTokenMembers = {
  kind: Type.Enum(['model', 'profile', 'query', 'admin']),
  name: DisplayName,
  scope: Type.Optional(ScopeBody),
  role: Type.Optional(
    Type.Enum([...tokenRoles], {
      description:
        'Narrows a query or an admin token within its scope to what `finance` or `support` needs. It never changes.',
    }),
  ),
  ...tokenMembers,
} as const

export const NewOwnTokenSchema = Type.Object(newTokenMembers, {
  named: 'NewOwnToken',
  ...strict,
  examples: [
    {
      kind: 'model',
      name: 'batch jobs',
      models: ['text-basic'],
      limits: { requests_per_minute: 60 },
    },
  ],
})

export const NewTokenSchema = Type.Object(
  {
    tenant_id: KnownId,
    user_id: KnownId,
    subject: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_SUBJECT_LENGTH,
        description:
          'The person who signs in to the console by name with this query or admin token, as the identity provider names them: the token then has no secret that anyone gets.',
      }),
    ),
    ...newTokenMembers,
  },
  {
    named: 'NewToken',
    ...strict,
    examples: [{ tenant_id: 'acme', user_id: 'ann', kind: 'model', name: 'batch jobs' }],
  },
)

export const TokenChangesSchema = Type.Object(
  { name: Type.Optional(DisplayName), ...tokenMembers, reason: Type.Optional(ChangeReason) },
  {
    named: 'TokenChanges',
    ...strict,
    description: 'Members that are absent are unchanged.',
    examples: [{ name: 'nightly jobs' }],
  },
)

export const RotationSchema = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_OVERLAP_MS / 1_000,
        description: `How long the old secret stays valid; ${DEFAULT_OVERLAP_S} by default.`,
      }),
    ),
    reason: Type.Optional(ChangeReason),
  },
  { named: 'TokenRotation', ...strict, examples: [{ overlap_seconds: 3_600 }] },
)

export const DisablingSchema = Type.Object({
  issued: Type.Optional(
    Type.Enum(['true', 'false'], {
      description: 'true: also disable the tokens that it issued, directly or through others.',
    }),
  ),
  reason: Type.Optional(ChangeReason),
})

export const TokenParamsSchema = Type.Object({
  id: Type.String({ description: 'Id of the token.' }),
})

const Time = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

const tokenFields = {
  object: Type.Literal('token'),
  id: Type.String(),
  kind: Type.Enum(['model', 'profile', 'query', 'admin']),
  name: Type.String(),
  prefix: Type.String({ description: 'First characters of the secret.', examples: ['sk-'] }),
  last_four: Type.String({
    description:
      'Last four characters of the secret. The whole secret is shown once and not stored.',
  }),
  tenant_id: Type.String(),
  user_id: Type.String(),
  models: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'Models that the token may use; null: all.',
  }),
  addresses: Type.Union([Type.Array(Type.String()), Type.Null()], {
    description: 'CIDR ranges, such as 203.0.113.0/24; null: anywhere.',
  }),
  limits: Type.Object(limits, { named: 'TokenLimits' }),
  scope: Type.Union(
    [
      Type.Object(
        { level: Type.Enum([...levels]), user_ids: Type.Optional(Type.Array(Type.String())) },
        { named: 'TokenScope' },
      ),
      Type.Null(),
    ],
    { description: 'Scope of a query or admin token; null for other kinds.' },
  ),
  role: Type.Union([Type.Enum([...tokenRoles]), Type.Null()], {
    description: 'Role of a query or an admin token; null: everything within its scope.',
  }),
  subject: Type.Union([Type.String(), Type.Null()], {
    description:
      'The person who signs in to the console by name, as the identity provider names them: the token has no secret that anyone knows. null: it is used by its secret.',
  }),
  claim: Type.Union([Type.String(), Type.Null()], {
    description:
      'The value of the claim by which the identity provider gives the person of `subject` this role; null: the person was invited.',
  }),
  issued_by: Type.Union([Type.String(), Type.Null()], {
    description:
      'Id of the token that issued it; null: issued by an operator at the command line, or not recorded.',
  }),
  created_at: Type.String({
    format: 'date-time',
    description: 'RFC 3339, as all times of a token.',
  }),
  rotated_at: Time('When the secret was last rotated; null: never.'),
  last_used_at: Time('When it was last accepted, up to a minute late; null: never.'),
  expires_at: Time('When it expires; null: never.'),
  disabled_at: Time('When it was disabled; null: not disabled.'),
}

export const TokenAnswerSchema = successOf(Type.Object(tokenFields))

export const DisabledAnswerSchema = successOf(
  Type.Object(
    {
      ...tokenFields,
      issued: Type.Object(
        { disabled: Type.Integer(), active: Type.Integer() },
        {
          description:
            'Tokens that it issued, directly or through others: how many this request disabled, and how many are still active. At most 1000 are counted.',
        },
      ),
    },
    { named: 'DisabledToken' },
  ),
)

export const SecretAnswerSchema = successOf(
  Type.Object(
    {
      ...tokenFields,
      secret: Type.String({ description: 'Shown only in this answer; the gateway stores a hash.' }),
    },
    { named: 'TokenWithSecret' },
  ),
)

export const IssuedAnswerSchema = successOf(
  Type.Object(
    {
      ...tokenFields,
      secret: Type.Union([Type.String(), Type.Null()], {
        description:
          'Shown only in this answer; the gateway stores a hash. null: the person of `subject` signs in by name, and the token has no secret that anyone gets.',
      }),
    },
    { named: 'IssuedToken' },
  ),
)

export const TokensAnswerSchema = successOf(
  Type.Object(
    {
      items: Type.Array(Type.Object(tokenFields), { description: 'Oldest first.' }),
      next_cursor: NextCursor,
    },
    { named: 'TokenPage' },
  ),
)
