import { DomainError } from '../../kernel/errors.ts'
import { MAX_TOKEN_LIMIT, type TokenKind, type TokenLimits } from './events.ts'

export type LimitName = keyof TokenLimits
export const limitNames: readonly LimitName[] = [
  'requestsPerMinute',
  'tokensPerMinute',
  'concurrentTasks',
]

/** A figure, null for no limit, or back to the operator's default; what is absent stays. */
export type TokenLimitChanges = Readonly<Partial<Record<LimitName, number | null | 'default'>>>

/** The limits after a change. */
export function changedLimits(limits: TokenLimits, changes: TokenLimitChanges): TokenLimits {
  const kept = limitNames.flatMap((name) => {
    const change = changes[name]
    const limit = change === undefined ? limits[name] : change
    return limit === undefined || limit === 'default' ? [] : [[name, limit] as const]
  })
  return Object.fromEntries(kept)
}

export function sameLimits(a: TokenLimits, b: TokenLimits): boolean {
  return limitNames.every((name) => a[name] === b[name])
}

/** @throws DomainError `token_limits_invalid` */
export function checkLimits(tokenId: string, kind: TokenKind, limits: TokenLimits): void {
  const fail = (message: string): never => {
    throw new DomainError('token_limits_invalid', message, { tokenId })
  }
  // The others call no model.
  if (kind !== 'model') fail('only a model token has limits')
  for (const name of limitNames) {
    const limit = limits[name] ?? 1
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_TOKEN_LIMIT)
      fail(`a limit is a whole number from 1 to ${MAX_TOKEN_LIMIT}`)
  }
}
