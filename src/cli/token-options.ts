import { type SubjectToken, tokensOfSubject } from '../../projections/access/query.ts'
import { checkTokenModels, createKnownModels } from '../app/accounts/known-models.ts'
import {
  MAX_TOKEN_LIMIT,
  type QueryScope,
  type TokenKind,
  type TokenLimits,
  type TokenRole,
  mayHaveRole,
  tokenPrefixes,
  tokenRoles,
} from '../domain/token/events.ts'
import type { TokenChanges } from '../domain/token/changes.ts'
import { type LimitName, limitNames, type TokenLimitChanges } from '../domain/token/limits.ts'
import { isSubject, MAX_SUBJECT_LENGTH, subjectNamed } from '../domain/token/subject.ts'
import { catalog } from '../families/index.ts'
import { systemClock, toTimestamp } from '../kernel/clock.ts'
import { note, UsageError } from './output.ts'
import { parseTime } from './replay/moment.ts'
import type { Session } from './session.ts'
import { readServedModels } from './upstreams.ts'

/** As the options that set limits are read, whichever command has them. */
export interface LimitOptions {
  readonly rpm?: string
  readonly tpm?: string
  readonly concurrentCalls?: string
  readonly concurrentTasks?: string
}

const options: Readonly<
  Record<LimitName, { readonly key: keyof LimitOptions; readonly flag: string }>
> = {
  requestsPerMinute: { key: 'rpm', flag: '--rpm' },
  tokensPerMinute: { key: 'tpm', flag: '--tpm' },
  concurrentCalls: { key: 'concurrentCalls', flag: '--concurrent-calls' },
  concurrentTasks: { key: 'concurrentTasks', flag: '--concurrent-tasks' },
}

/** Limits of a new token; undefined when none was named. @throws UsageError */
export function limitsOf(given: LimitOptions): TokenLimits | undefined {
  const limits = Object.fromEntries(
    limitNames.flatMap((name) => {
      const limit = read(name, given, ['none'])
      return limit === undefined || limit === 'default' ? [] : [[name, limit] as const]
    }),
  )
  return Object.keys(limits).length === 0 ? undefined : limits
}

/** Changes of limits; what was not named stays. @throws UsageError */
export function limitChangesOf(
  given: LimitOptions,
  words: readonly ('none' | 'default')[] = ['none', 'default'],
): TokenLimitChanges {
  const changes = limitNames.flatMap((name) => {
    const change = read(name, given, words)
    return change === undefined ? [] : [[name, change] as const]
  })
  if (changes.length === 0)
    throw new UsageError(`say ${limitNames.map((name) => options[name].flag).join(', ')}`)
  return Object.fromEntries(changes)
}

/** Limits for people, e.g. `rpm 60, concurrent-tasks none`; empty where the defaults are in force. */
export function limitsText(limits: TokenLimits | undefined): string {
  return limitNames
    .filter((name) => limits?.[name] !== undefined)
    .map((name) => `${options[name].flag.slice(2)} ${limits?.[name] ?? 'none'}`)
    .join(', ')
}

function read(
  name: LimitName,
  given: LimitOptions,
  words: readonly ('none' | 'default')[],
): number | null | 'default' | undefined {
  const { key, flag } = options[name]
  const text = given[key]
  if (text === undefined) return undefined
  const word = words.find((known) => known === text)
  if (word !== undefined) return word === 'none' ? null : word
  const limit = /^\d{1,10}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > MAX_TOKEN_LIMIT)
    throw new UsageError(
      `${flag} must be a whole number from 1 to ${MAX_TOKEN_LIMIT}, or ${words.join(' or ')}`,
    )
  return limit
}

/** Models of a token, each looked up: where it is not known which are served, a name may be that of one of them. */
export async function modelsOf({ config, pool }: Session, list: string): Promise<string[]> {
  const names = splitList(list)
  const served = await readServedModels(config)
  const known = createKnownModels({ db: pool, catalog, clock: systemClock, served: served ?? [] })
  if (served !== undefined)
    for (const warning of await checkTokenModels(known, names)) note(warning)
  else
    for (const name of await known.unknown(names))
      note(`served models are unknown; \`${name}\`${await known.hint(name)}`)
  return names
}

/** The time when a token ends, in RFC 3339. @throws UsageError for one that is past */
export function expiryOf(text: string): string {
  const atMs = parseTime('--expires', text)
  if (atMs <= systemClock.nowMs()) throw new UsageError('--expires must be in the future')
  return toTimestamp(atMs)
}

/** @throws UsageError naming the kinds */
export function kindOf(text: string): TokenKind {
  const kinds = Object.keys(tokenPrefixes) as TokenKind[]
  const kind = kinds.find((known) => known === text)
  if (!kind) throw new UsageError(`--kind must be one of ${kinds.join(', ')}`)
  return kind
}

/** @throws UsageError naming the roles */
export function roleOf(kind: TokenKind, text: string | undefined): TokenRole | undefined {
  if (text === undefined) return undefined
  const role = tokenRoles.find((known) => known === text)
  if (role === undefined) throw new UsageError(`--role must be ${tokenRoles.join(' or ')}`)
  if (!mayHaveRole(kind)) throw new UsageError('--role is for a query or an admin token')
  return role
}

/** @throws UsageError for a kind without subjects, and for a text that cannot be one */
export function subjectOf(kind: TokenKind, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (!mayHaveRole(kind)) throw new UsageError('--subject is for a query or an admin token')
  if (isSubject(text)) return subjectNamed(text)
  throw new UsageError(
    `--subject must have 1 to ${MAX_SUBJECT_LENGTH} characters, without blanks at its ends`,
  )
}

/** Names the tokens of a subject that its next sign-in does not use, and says where it must choose. */
export async function noteOthersOf({ pool }: Session, subject: string): Promise<void> {
  const [newest, ...others] = await tokensOfSubject(pool, subject)
  const isReplaced = ({ tenantId, spansTenants }: SubjectToken) =>
    tenantId === newest?.tenantId && spansTenants === newest.spansTenants
  const replaced = others.filter(isReplaced).map(({ tokenId }) => tokenId)
  if (replaced.length > 0)
    note(`${subject} signs in with this token from now on, not with ${replaced.join(', ')}`)
  if (replaced.length < others.length)
    note(`${subject} has tokens of other tenants or scopes too, and chooses one at each sign-in`)
}

/** By default a query token reads its user's data and an admin token is an operator's. */
export function scopeOf(
  kind: TokenKind,
  named: string | undefined,
  users: string | undefined,
): QueryScope | undefined {
  if (kind !== 'query' && kind !== 'admin') return undefined
  const level = named ?? (kind === 'admin' ? 'all_tenants' : 'current_user')
  switch (level) {
    case 'current_user':
      return { level: 'current_user' }
    case 'specified_users':
      if (!users) throw new UsageError('--scope specified_users needs --users a,b')
      return { level, userIds: splitList(users) }
    case 'all_users':
    case 'all_tenants':
      return { level }
    default:
      throw new UsageError(
        '--scope must be current_user, specified_users, all_users or all_tenants',
      )
  }
}

/** The items of a list that commas separate. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** Options that change a token, except its limits. */
export interface UpdateOptions {
  readonly name?: string
  readonly models?: string
  readonly addresses?: string
  readonly expires?: string
}

/** The changes that options ask for: `all`, `any` and `never` remove a bound. @throws UsageError */
export async function tokenChangesOf(
  session: Session,
  { name, models, addresses, expires }: UpdateOptions,
): Promise<TokenChanges> {
  if ((name ?? models ?? addresses ?? expires) === undefined)
    throw new UsageError('give at least one of --name, --models, --addresses and --expires')
  return {
    ...(name === undefined ? {} : { name }),
    ...(models === undefined
      ? {}
      : { models: models === 'all' ? null : await modelsOf(session, models) }),
    ...(addresses === undefined
      ? {}
      : { addresses: addresses === 'any' ? null : splitList(addresses) }),
    ...(expires === undefined ? {} : { expiresAt: expires === 'never' ? null : expiryOf(expires) }),
  }
}
