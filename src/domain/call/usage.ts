/**
 * What a text call consumed, by billing unit. Cached and cache-write tokens are not part of `input`:
 * adapters subtract them from the provider's total. An explicit zero stays zero.
 */
export interface TextUsage {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite5m: number
  readonly cacheWrite1h: number
  readonly output: number
  readonly webSearchCalls: number
  readonly codeInterpreterSessions: number
  readonly fileSearchCalls: number
}

/** Tokens in and out, those of caches included. */
export function totalTokens(usage: TextUsage): number {
  const { input, cachedInput, cacheWrite5m, cacheWrite1h, output } = usage
  return input + cachedInput + cacheWrite5m + cacheWrite1h + output
}

export const noTextUsage: TextUsage = {
  input: 0,
  cachedInput: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  output: 0,
  webSearchCalls: 0,
  codeInterpreterSessions: 0,
  fileSearchCalls: 0,
}
