import { Type } from 'typebox'
import { lifeKinds } from '../../../domain/lives.ts'
import { noteActions, noteAudiences } from '../../../domain/note/events.ts'
import { PersonSchema } from '../../kit/routes/account-surface.ts'
import { ReceiptSchema } from '../receipts/schemas.ts'
import { Decimal, TextOrNull } from '../schemas.ts'

/** Shapes of lives. */

const orNull = (description: string) => Type.Union([Type.Integer(), Type.Null()], { description })

const StepNumber = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 20_000, description }))

export const LifeParamsSchema = Type.Object({
  id: Type.String({
    description:
      'Id of a call, an answer, a task (platform or native), a request, a line of the ledger, an asset, a group, a verification, a file or an upload.',
  }),
})

export const LifeQuerySchema = Type.Object({
  at: StepNumber('Show the state as of this step, `n`.'),
  against: StepNumber('Show what changed between this step and `at`, or the last.'),
  tz: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'IANA time zone of the times, such as `Asia/Shanghai`; UTC by default.',
    }),
  ),
})

export const TicketQuerySchema = Type.Object({
  format: Type.Optional(
    Type.Enum(['json', 'md'], { description: 'JSON by default, or Markdown.' }),
  ),
  tz: LifeQuerySchema.properties.tz,
})

const MoneySchema = Type.Object(
  {
    word: Type.Enum(['held', 'charged', 'freed', 'given back', 'taken back', 'not charged']),
    amount: Decimal,
  },
  { named: 'StepMoney' },
)

const AfterSchema = Type.Object(
  {
    held: Decimal,
    charged: Decimal,
    given_back: Decimal,
    net: Type.String({ description: '`charged` less `given_back`.' }),
  },
  { named: 'MoneyAfter' },
)

const StepSchema = Type.Object(
  {
    n: Type.Integer({ description: '1, 2, 3, …' }),
    position: Type.String({ description: 'Position in the log of its last event.' }),
    types: Type.Array(Type.String(), {
      description: 'The events of the step: those of one append are one step.',
    }),
    at: Type.String({ description: 'RFC 3339: when the log recorded it.' }),
    started_at: TextOrNull('When a step began that lasted, such as a call.'),
    wait_ms: Type.Integer({ description: 'Time since the step before it.' }),
    by: Type.Enum(['caller', 'gateway', 'provider', 'operator'], {
      description: 'Who did or said it.',
    }),
    title: Type.String(),
    detail: Type.String(),
    state: Type.Enum(['waiting', 'running', 'uncertain', 'done', 'failed', 'moved'], {
      description: 'The life after it; `moved`: as before.',
    }),
    money: Type.Array(MoneySchema),
    formulas: Type.Array(Type.String(), {
      description: 'How each line of a charge was calculated.',
    }),
    after: AfterSchema,
    actor: Type.Optional(
      TextOrNull('Who posted it; only for tokens with the scope `all_tenants`.'),
    ),
  },
  { named: 'LifeStep' },
)

const RelatedSchema = Type.Object(
  {
    id: Type.String(),
    why: Type.Enum(['retry', 'same_body', 'same_key', 'same_request', 'uses', 'used_by'], {
      description:
        '`retry`: the same body again, by a client that says so; `same_body`: again, and it does not; `same_key`: with the same `Idempotency-Key`; `same_request`: of one request; `uses`: an asset; `used_by`: what used this asset.',
    }),
    after_ms: Type.Integer({
      description: 'From this life to that one; negative: that was first.',
    }),
    retry: orNull('How often the client had tried before, as it says.'),
    amount: TextOrNull('Charged, an exact decimal; null: nothing, or not yet.'),
    currency: TextOrNull('Currency of the amount.'),
  },
  { named: 'RelatedLife' },
)

const NoteSchema = Type.Object(
  {
    id: Type.String(),
    at: Type.String({ description: 'RFC 3339: when the log recorded it.' }),
    action: Type.Union([Type.Enum([...noteActions]), Type.Null()], {
      description:
        'What it explains: `poll`, the provider was to be asked again; `give_up`; null: only a note. Whether it was done, the steps say.',
    }),
    text: Type.String({ description: 'One or more lines.' }),
    audience: Type.Enum([...noteAudiences], {
      description: '`operators`: shown to tokens with the scope `all_tenants` alone.',
    }),
    by: Type.Union([PersonSchema, Type.Null()], {
      description: 'Who wrote it; null: a shell of the operator.',
    }),
  },
  { named: 'LifeNote' },
)

const StateSchema = Type.Object(
  { step: Type.Integer(), at: Type.String(), title: Type.String(), ...AfterSchema.properties },
  { named: 'LifeState' },
)

const DifferenceSchema = Type.Object(
  {
    from_step: Type.Integer(),
    to_step: Type.Integer(),
    took_ms: Type.Integer(),
    changes: Type.Array(
      Type.Object({ name: Type.String(), from: Type.String(), to: Type.String() }),
      { description: '`title`, `held`, `charged`, `given_back` and `net`, where they differ.' },
    ),
  },
  { named: 'LifeDifference' },
)

const ResultSchema = Type.Object(
  {
    what: Type.Enum(['answer', 'files', 'result'], {
      description:
        '`answer`: for the same `Idempotency-Key`; `files`: those that the answer links to, if it does; `result`: of a task.',
    }),
    kept_by: Type.Union([Type.Enum(['gateway', 'provider']), Type.Null()], {
      description: 'Null: it was sent to the caller, and is not kept.',
    }),
    until: TextOrNull(
      'When it is no longer kept, or its links at the provider end; null where that is not known.',
    ),
  },
  { named: 'KeptResult' },
)

export const LifeSchema = Type.Object(
  {
    id: Type.String({ description: "The gateway's id." }),
    object: Type.Literal('life'),
    kind: Type.Enum([...lifeKinds]),
    tenant_id: Type.String(),
    user_id: TextOrNull('The user of the request.'),
    state: Type.String({ description: 'As in its receipt; without one the title of a step.' }),
    aside: Type.Array(Type.String(), {
      description: 'Sentences that the verdict of the receipt does not say.',
    }),
    receipt: Type.Union([ReceiptSchema, Type.Null()], {
      description: 'Null for what costs nothing, such as an asset.',
    }),
    duration_ms: orNull('From the request to its end; null before it, and without a receipt.'),
    first_byte_ms: orNull(
      'From the request to the first byte of a stream; null for others, and where none came.',
    ),
    result: Type.Union([ResultSchema, Type.Null()], {
      description: 'Whether its result is kept; null before it is settled. Prompts never are.',
    }),
    steps: Type.Array(StepSchema, { description: 'Oldest first.' }),
    as_of: Type.Optional(StateSchema),
    difference: Type.Optional(DifferenceSchema),
    deadline_at: TextOrNull('When it expires unless it ends before; null once it has ended.'),
    last_asked_at: TextOrNull('When the provider last answered about it; null once it has ended.'),
    polls: orNull('How often the provider was asked about it; null once it has ended.'),
    attempts: Type.Integer({ description: 'Attempts upstream that its call needed.' }),
    callback: Type.Boolean({ description: 'The request named a URL that the provider calls.' }),
    related: Type.Array(RelatedSchema, { description: 'In the order of time.' }),
    notes: Type.Array(NoteSchema, {
      description:
        'Notes of support, oldest first: all of them for operators; those of the tenant’s own administrators for tokens that see the whole tenant.',
    }),
  },
  { named: 'Life' },
)

export const LifeAnswerSchema = Type.Object(
  { success: Type.Literal(true), message: Type.String(), data: LifeSchema },
  { description: 'Success.' },
)
