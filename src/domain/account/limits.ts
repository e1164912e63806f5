import { DomainError } from '../../kernel/errors.ts'
import { MAX_TOKEN_LIMIT } from '../token/events.ts'
import { type LimitName, limitNames } from '../token/limits.ts'
import { limitedName, type AccountEvent, type AccountEventData } from './events.ts'

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

/** All limits of a tenant and of its users; those of tokens are said of tokens. */
export interface AccountLimits {
  readonly revision: number
  readonly limits: readonly SubjectLimits[]
}

/** What a tenant's limits shall be from now on: all of them, not a change of some. */
export interface SetLimits {
  readonly kind: 'set-limits'
  readonly tenantId: string
  /** Of a subject one each. */
  readonly limits: readonly SubjectLimits[]
  /** The revision that was looked at, 0 for none; absent: nobody looked. */
  readonly basis?: number | undefined
  /** RFC 3339. */
  readonly at: string
}

/** Keeps the event well under the log's 1 MiB an append. */
export const MAX_SUBJECTS = 1_000

/** Before any were set. */
export const noAccountLimits: AccountLimits = { revision: 0, limits: [] }

/** The limits that an event sets. */
export function accountLimitsOf({
  revision,
  limits,
}: AccountEventData<'LimitsSet'>): AccountLimits {
  return { revision, limits }
}

/** Whether both say the same; their order says nothing. */
export function sameSubjectLimits(
  a: readonly SubjectLimits[],
  b: readonly SubjectLimits[],
): boolean {
  const said = (all: readonly SubjectLimits[]): string =>
    all
      .map((one) => [limitedName(one.subject), ...limitNames.map((name) => one[name])].join(' '))
      .sort()
      .join('\n')
  return said(a) === said(b)
}

/**
 * Setting the same limits again decides to no event.
 *
 * @throws DomainError `limits_invalid`, `limits_changed` when they were set since it was looked at
 */
export function setLimits(
  { tenantId, limits, basis, at }: SetLimits,
  current: AccountLimits = noAccountLimits,
): readonly AccountEvent[] {
  const { revision } = current
  if (limits.length > MAX_SUBJECTS) refuse('limits', `at most ${MAX_SUBJECTS} of one tenant`)
  const next = limits.map((one, index) => checked(one, `limits/${index}`))
  const names = next.map(({ subject }) => limitedName(subject))
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) refuse('limits', `${twice} twice`)
  // Also of a basis that is past: whoever sends it again has not seen the answer.
  if (sameSubjectLimits(next, current.limits)) return []
  if (basis !== undefined && basis !== revision)
    throw new DomainError(
      'limits_changed',
      `the limits of this tenant were set in the meantime, to revision ${revision}: look at them again`,
      { tenantId, revision },
    )
  const data = { tenantId, revision: revision + 1, limits: next, setAt: at }
  return [{ type: 'LimitsSet', data }]
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

function refuse(param: string, message: string): never {
  throw new DomainError('limits_invalid', `${param}: ${message}`, { param })
}
