import { MAX_TOKEN_LIMIT, type TokenLimits } from '../domain/token/events.ts'
import { type LimitName, limitNames, type TokenLimitChanges } from '../domain/token/limits.ts'
import { CommandError } from './output.ts'

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

/** Limits of a new token; undefined when none was named. @throws CommandError */
export function limitsOf(given: LimitOptions): TokenLimits | undefined {
  const limits = Object.fromEntries(
    limitNames.flatMap((name) => {
      const limit = read(name, given, ['none'])
      return limit === undefined || limit === 'default' ? [] : [[name, limit] as const]
    }),
  )
  return Object.keys(limits).length === 0 ? undefined : limits
}

/** Changes of limits; what was not named stays. @throws CommandError */
export function limitChangesOf(
  given: LimitOptions,
  words: readonly ('none' | 'default')[] = ['none', 'default'],
): TokenLimitChanges {
  const changes = limitNames.flatMap((name) => {
    const change = read(name, given, words)
    return change === undefined ? [] : [[name, change] as const]
  })
  if (changes.length === 0)
    throw new CommandError(`say ${limitNames.map((name) => options[name].flag).join(', ')}`)
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
    throw new CommandError(
      `${flag} must be a whole number from 1 to ${MAX_TOKEN_LIMIT}, or ${words.join(' or ')}`,
    )
  return limit
}
