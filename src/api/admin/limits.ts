import { type Static, Type } from 'typebox'
import { managedLimits } from '../../app/accounts/settings.ts'
import {
  type LimitedSubject,
  MAX_SUBJECTS,
  type SubjectLimits,
} from '../../domain/account/limits.ts'
import { MAX_TOKEN_LIMIT } from '../../domain/token/events.ts'
import { KnownId } from '../kit/account-surface.ts'
import { RequestError } from '../kit/request-error.ts'
import { expectedRevision, settingRoutes } from './settings.ts'

/** A thousand users, each with an id. */
const BODY_LIMIT_BYTES = 512 * 1024

const strict = { additionalProperties: false } as const
const orNull = (description: string) =>
  Type.Union([Type.Integer({ minimum: 1, maximum: MAX_TOKEN_LIMIT }), Type.Null()], { description })

const subject = Type.Enum(['tenant', 'user'], {
  description: 'All users and tokens of the tenant together, or all tokens of a user.',
})
const figures = {
  requests_per_minute: orNull('Calls and creations of tasks.'),
  tokens_per_minute: orNull('Tokens of text, in and out.'),
  concurrent_calls: orNull('Synchronous calls under way.'),
  concurrent_tasks: orNull('Asynchronous tasks that have not ended.'),
}

const LimitsOfSubject = Type.Object(
  {
    subject,
    user_id: Type.Optional(KnownId),
    requests_per_minute: Type.Optional(figures.requests_per_minute),
    tokens_per_minute: Type.Optional(figures.tokens_per_minute),
    concurrent_calls: Type.Optional(figures.concurrent_calls),
    concurrent_tasks: Type.Optional(figures.concurrent_tasks),
  },
  { ...strict, description: 'What is absent or null is not limited.' },
)

const LimitsBody = Type.Object(
  {
    limits: Type.Array(LimitsOfSubject, { maxItems: MAX_SUBJECTS }),
    ...expectedRevision,
  },
  {
    ...strict,
    examples: [
      {
        limits: [{ subject: 'user', user_id: 'ann', requests_per_minute: 60, concurrent_tasks: 5 }],
      },
    ],
  },
)

/** How much a tenant and its users may ask at a time. */
export const limitRoutes = settingRoutes({
  setting: managedLimits,
  path: 'limits',
  operation: 'Limits',
  get: { summary: 'Limits of a tenant and of its users' },
  put: {
    summary: 'Set all limits of a tenant and of its users; of the tenant itself an operator',
    bodyLimit: BODY_LIMIT_BYTES,
    body: LimitsBody,
    failures: ['user_not_found'],
  },
  members: {
    limits: Type.Array(
      Type.Object(
        { subject, user_id: Type.Optional(Type.String()), ...figures },
        { named: 'SubjectLimits' },
      ),
    ),
  },
  read: ({ limits }) => ({ limits: limits.map(readLimits) }),
  toBody: ({ limits }) => ({
    limits: limits.map((one) => ({
      subject: one.subject.kind,
      ...(one.subject.kind === 'user' ? { user_id: one.subject.userId } : {}),
      requests_per_minute: one.requestsPerMinute ?? null,
      tokens_per_minute: one.tokensPerMinute ?? null,
      concurrent_calls: one.concurrentCalls ?? null,
      concurrent_tasks: one.concurrentTasks ?? null,
    })),
  }),
})

function readLimits(body: Static<typeof LimitsOfSubject>, index: number): SubjectLimits {
  return {
    subject: readSubject(body, `limits/${index}/user_id`),
    requestsPerMinute: body.requests_per_minute ?? undefined,
    tokensPerMinute: body.tokens_per_minute ?? undefined,
    concurrentCalls: body.concurrent_calls ?? undefined,
    concurrentTasks: body.concurrent_tasks ?? undefined,
  }
}

function readSubject(
  { subject: kind, user_id: userId }: Static<typeof LimitsOfSubject>,
  param: string,
): LimitedSubject {
  if (kind === 'user' && userId !== undefined) return { kind, userId }
  if (kind === 'tenant' && userId === undefined) return { kind }
  const message = kind === 'user' ? 'must say whose' : 'goes with subject user'
  throw new RequestError('parameter_invalid', `${param} ${message}`, param)
}
