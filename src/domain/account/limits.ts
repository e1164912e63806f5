import { MAX_TOKEN_LIMIT } from '../token/events.ts'
import { type LimitName, limitNames } from '../token/limits.ts'
import { type AccountEventData, limitedName } from './events.ts'
import { type AccountSetting, invalidSetting, repeated, unordered } from './setting.ts'

/** Whose requests are limited together: all of the tenant's, or those of a user with all its tokens. */
export type LimitedSubject =
  | { readonly kind: 'tenant' }
  | { readonly kind: 'user'; readonly userId: string }

/** How much may be asked at a time; what is absent is not limited. */
export type LimitFigures = Readonly<Partial<Record<LimitName, number | undefined>>>

/** The limits of a tenant or of a user of it, at least one. */
export interface SubjectLimits extends LimitFigures {
  readonly subject: LimitedSubject
}

/** All limits of a tenant and of its users; those of tokens are set on tokens. */
export interface AccountLimits {
  readonly revision: number
  readonly limits: readonly SubjectLimits[]
}

/** The limits a tenant shall have: all of them. */
export interface WantedLimits {
  /** Of a subject one each. */
  readonly limits: readonly SubjectLimits[]
}

/** Keeps the event well under the log's 1 MiB an append. */
export const MAX_SUBJECTS = 1_000

const refuse: (param: string, message: string) => never = invalidSetting('limits')

export const limits: AccountSetting<
  AccountLimits,
  WantedLimits,
  Pick<AccountEventData<'LimitsSet'>, 'limits'>
> = {
  code: 'limits',
  title: 'limits',
  none: { revision: 0, limits: [] },
  read: (event) => {
    if (event.type !== 'LimitsSet') return undefined
    const { revision, limits: all } = event.data
    return { revision, limits: all }
  },
  event: (data) => ({ type: 'LimitsSet', data }),
  canonical: ({ limits: wanted }) => {
    if (wanted.length > MAX_SUBJECTS) refuse('limits', `at most ${MAX_SUBJECTS} of one tenant`)
    const next = wanted.map((one, index) => checked(one, `limits/${index}`))
    const twice = repeated(next.map(({ subject }) => limitedName(subject)))
    if (twice !== undefined) refuse('limits', `${twice} twice`)
    return { limits: next }
  },
  fingerprint: ({ limits: all }) => linesOf(all),
  /** Limits of users are the administrator's. */
  operatorsOnly: ({ limits: wanted }, now) => {
    if (linesOf(wanted.filter(isOfTenant)) === linesOf(now.limits.filter(isOfTenant)))
      return undefined
    const message = 'Limits of the tenant itself stay as they are: an operator sets them'
    return { param: 'limits', message }
  },
}

const isOfTenant = ({ subject }: SubjectLimits): boolean => subject.kind === 'tenant'

function linesOf(all: readonly SubjectLimits[]): string {
  return unordered(
    all.map((one) => [limitedName(one.subject), ...limitNames.map((name) => one[name])].join(' ')),
  )
}

function checked({ subject, ...figures }: SubjectLimits, at: string) {
  const said = limitNames.flatMap((name) => {
    const limit = figures[name]
    if (limit === undefined) return []
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_TOKEN_LIMIT)
      refuse(at, `a limit is a whole number from 1 to ${MAX_TOKEN_LIMIT}`)
    return [[name, limit] as const]
  })
  if (said.length === 0) refuse(at, 'says no limit')
  return { subject, ...Object.fromEntries(said) }
}
