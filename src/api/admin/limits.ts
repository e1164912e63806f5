import { type Static, Type } from 'typebox'
import { managedLimits } from '../../app/accounts/settings.ts'
import {
  type LimitedSubject,
  MAX_SUBJECTS,
  type SubjectLimits,
} from '../../domain/account/limits.ts'
import { MAX_TOKEN_LIMIT } from '../../domain/token/events.ts'
import { KnownId } from '../kit/routes/account-surface.ts'
import { RequestError } from '../kit/request-error.ts'
import { changeMembers, settingRoutes } from './settings.ts'

/** A thousand users, each with an id. */
const BODY_LIMIT_BYTES = 512 * 1024

const strict = { additionalProperties: false } as const
const orNull = (description: string) =>
  Type.Union([Type.Integer({ minimum: 1, maximum: MAX_TOKEN_LIMIT }), Type.Null()], { description })

const subject = Type.Enum(['tenant', 'user'], {
  description: '`tenant`: all its users and tokens together; `user`: all tokens of that user.',
})
const figures = {
  requests_per_minute: orNull('Calls and creations of tasks.'),
  tokens_per_minute: orNull('Text tokens, input and output.'),
  concurrent_calls: orNull('Running synchronous calls.'),
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
  { ...strict, description: 'A limit that is absent or null is removed.' },
)

const LimitsBody = Type.Object(
  {
    limits: Type.Array(LimitsOfSubject, { maxItems: MAX_SUBJECTS }),
    ...changeMembers,
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

/** Routes of the limits of a tenant and its users. */
export const limitRoutes = settingRoutes({
  setting: managedLimits,
  path: 'limits',
  operation: 'Limits',
  roles: { get: ['support'] },
  get: { summary: 'List the limits of a tenant and of its users' },
  put: {
    summary:
      'Replace all limits of a tenant and of its users; only an operator changes those of the tenant itself',
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
    subject: readSubject(body, `limits[${index}].user_id`),
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
  const message =
    kind === 'user' ? 'is required with subject user' : 'is allowed only with subject user'
  throw new RequestError('parameter_invalid', `${param} ${message}`, param)
}
