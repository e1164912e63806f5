import { type Static, Type } from '@sinclair/typebox'
import { MAX_TOKEN_LIMIT } from '../token/events.ts'
import { type LimitName, limitNames } from '../token/limits.ts'
import {
  accountSetting,
  invalidSetting,
  repeated,
  type SettingValue,
  unordered,
} from './setting.ts'

const LimitedSubjectSchema = Type.Union([
  Type.Object({ kind: Type.Literal('tenant') }),
  Type.Object({ kind: Type.Literal('user'), userId: Type.String() }),
])
const LimitSchema = Type.Optional(Type.Integer({ minimum: 1 }))

/** The limits of a tenant or of one of its users, at least one; absent figures are not limited. */
const SubjectLimitsSchema = Type.Object({
  subject: LimitedSubjectSchema,
  requestsPerMinute: LimitSchema,
  /** Tokens of text, in and out. */
  tokensPerMinute: LimitSchema,
  /** Synchronous calls that are under way. */
  concurrentCalls: LimitSchema,
  /** Asynchronous tasks that have not ended. */
  concurrentTasks: LimitSchema,
})

/** Subject of a limit: all requests of the tenant, or those of a user with all its tokens. */
export type LimitedSubject = Static<typeof LimitedSubjectSchema>
/** Limits by name; absent ones are not limited. */
export type LimitFigures = Readonly<Partial<Record<LimitName, number | undefined>>>
/** The limits of a tenant or of a user of it, at least one. */
export interface SubjectLimits extends LimitFigures {
  readonly subject: LimitedSubject
}
/** All limits of a tenant and of its users; limits of tokens are set on tokens. */
export type AccountLimits = SettingValue<typeof limits>

/** The limits a tenant shall have: all of them. */
export interface WantedLimits {
  /** At most one per subject. */
  readonly limits: readonly SubjectLimits[]
}

/** Keeps the event well under the log's 1 MiB an append. */
export const MAX_SUBJECTS = 1_000

/** Name of a subject, unique within the tenant. */
export function limitedName(subject: LimitedSubject): string {
  return subject.kind === 'tenant' ? 'tenant' : `user ${subject.userId}`
}

const refuse: (param: string, message: string) => never = invalidSetting('limits')

export const limits = accountSetting({
  code: 'limits',
  title: 'limits',
  type: 'LimitsSet',
  takesReason: true,
  terms: {
    /** All limits of the tenant and its users from now on. */
    limits: Type.Array(SubjectLimitsSchema),
  },
  none: { limits: [] },
  canonical: ({ limits: wanted }: WantedLimits) => {
    if (wanted.length > MAX_SUBJECTS) refuse('limits', `at most ${MAX_SUBJECTS} of one tenant`)
    const next = wanted.map((one, index) => checked(one, `limits[${index}]`))
    const twice = repeated(next.map(({ subject }) => limitedName(subject)))
    if (twice !== undefined) refuse('limits', `${twice} is given twice`)
    return { limits: next }
  },
  fingerprint: ({ limits: all }) => linesOf(all),
  /** Limits of users are the administrator's. */
  operatorsOnly: ({ limits: wanted }, now) => {
    if (linesOf(wanted.filter(isOfTenant)) === linesOf(now.limits.filter(isOfTenant)))
      return undefined
    const message = 'Only an operator changes the limits of the tenant itself'
    return { param: 'limits', message }
  },
  words: ({ revision, limits: all }) =>
    all.length === 0
      ? `no limits (${revision})`
      : `limits of ${all.map(({ subject }) => limitedName(subject)).join(', ')} (${revision})`,
})

const isOfTenant = ({ subject }: SubjectLimits): boolean => subject.kind === 'tenant'

function linesOf(all: readonly SubjectLimits[]): string {
  return unordered(
    all.map((one) => [limitedName(one.subject), ...limitNames.map((name) => one[name])].join(' ')),
  )
}

function checked({ subject, ...figures }: SubjectLimits, at: string) {
  const given = limitNames.flatMap((name) => {
    const limit = figures[name]
    if (limit === undefined) return []
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_TOKEN_LIMIT)
      refuse(at, `a limit is a whole number from 1 to ${MAX_TOKEN_LIMIT}`)
    return [[name, limit] as const]
  })
  if (given.length === 0) refuse(at, 'sets no limit')
  return { subject, ...Object.fromEntries(given) }
}
