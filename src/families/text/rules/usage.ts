/** Tokens as they are priced. Cached and cache-write tokens are not part of `input`. */
export const tokenUnits = [
  'input',
  'cached-input',
  'cache-write-5m',
  'cache-write-1h',
  'output',
] as const
export type TokenUnit = (typeof tokenUnits)[number]

/** Counts of a provider's own tools, by the SKU they are priced as. */
export const toolUnits = [
  'web-search-call',
  'code-interpreter-session',
  'file-search-call',
] as const
export type ToolUnit = (typeof toolUnits)[number]

/**
 * What a text call consumed, by billing unit. Adapters subtract cached and cache-write tokens from
 * the provider's total. An explicit zero stays zero.
 */
export type TextUsage = Readonly<Record<TokenUnit | ToolUnit, number>>

/** Tokens in and out, those of caches included. */
export function totalTokens(usage: TextUsage): number {
  return tokenUnits.reduce((sum, unit) => sum + usage[unit], 0)
}

export const noTextUsage: TextUsage = {
  input: 0,
  'cached-input': 0,
  'cache-write-5m': 0,
  'cache-write-1h': 0,
  output: 0,
  'web-search-call': 0,
  'code-interpreter-session': 0,
  'file-search-call': 0,
}
