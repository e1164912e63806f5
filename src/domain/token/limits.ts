import { DomainError } from '../../kernel/errors.ts'
import { MAX_TOKEN_LIMIT, type TokenKind, type TokenLimits } from './events.ts'

export type LimitName = keyof TokenLimits
export const limitNames: readonly LimitName[] = [
  'requestsPerMinute',
  'tokensPerMinute',
  'concurrentCalls',
  'concurrentTasks',
]

/** A number, null for no limit, or `default` for the operator's default; an absent limit stays. */
export type TokenLimitChanges = Readonly<Partial<Record<LimitName, number | null | 'default'>>>

/** Limits of tokens without their own; absent is no limit. */
export type DefaultTokenLimits = Readonly<Partial<Record<LimitName, number | undefined>>>

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
    throw new DomainError('token_limits_invalid', message, { tokenId, param: 'limits' })
  }
  // Tokens of other kinds call no model.
  if (kind !== 'model') fail('only a model token has limits')
  for (const name of limitNames) {
    const limit = limits[name] ?? 1
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_TOKEN_LIMIT)
      fail(`a limit is a whole number from 1 to ${MAX_TOKEN_LIMIT}`)
  }
}

/** @throws DomainError `token_models_invalid` */
export function checkModels(
  tokenId: string,
  kind: TokenKind,
  models: readonly string[] | undefined,
): void {
  if (models === undefined || kind === 'model') return
  throw new DomainError('token_models_invalid', 'only a model token has a list of models', {
    tokenId,
    param: 'models',
  })
}
