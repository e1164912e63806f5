import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * The token whose request caused the current work, in all code that it runs. Work that several
 * tokens share runs without a token (`runForAllTokens`), so that the limits of the token that began
 * it do not delay the others.
 */

const tokens = new AsyncLocalStorage<string | undefined>()

/** Everything that `begin` starts is work for that token. */
export function runForToken(tokenId: string, begin: () => void): void {
  tokens.run(tokenId, begin)
}

/** Work started by `begin` is shared, whichever token's request started it. */
export function runForAllTokens<Result>(begin: () => Result): Result {
  return tokens.run(undefined, begin)
}

/** Undefined: no token caused this work, or several share it. */
export function currentToken(): string | undefined {
  return tokens.getStore()
}
