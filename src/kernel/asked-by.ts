import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Which token asked for what is done now, in everything that follows from it. Work that several share
 * says so (`forAll`): the one whose request began it must not make the others wait.
 */

const asking = new AsyncLocalStorage<string | undefined>()

/** All that this begins, and what follows from it, is work for that token. */
export function askedBy(tokenId: string, begin: () => void): void {
  asking.run(tokenId, begin)
}

/** What this begins is work for all, whichever token's request began it. */
export function forAll<Result>(begin: () => Result): Result {
  return asking.run(undefined, begin)
}

/** Undefined: no token asked, or all may have. */
export function askingToken(): string | undefined {
  return asking.getStore()
}
