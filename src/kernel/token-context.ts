import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * The token whose request caused the current work, in every call that follows. Work that several
 * tokens share is marked (`runForAllTokens`): the limits of the one whose request began it must not delay
 * the others.
 */

const tokens = new AsyncLocalStorage<string | undefined>()

/** All that this begins, and what follows from it, is work for that token. */
export function runForToken(tokenId: string, begin: () => void): void {
  tokens.run(tokenId, begin)
}

/** What this begins is work for all, whichever token's request began it. */
export function runForAllTokens<Result>(begin: () => Result): Result {
  return tokens.run(undefined, begin)
}

/** Undefined: no token asked, or all may have. */
export function currentToken(): string | undefined {
  return tokens.getStore()
}
