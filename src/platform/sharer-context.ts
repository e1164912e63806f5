import { AsyncLocalStorage } from 'node:async_hooks'
import type { Sharer } from '../kernel/sharers.ts'

/**
 * Whose request caused the current work, in all code that it runs. Work for several callers runs
 * without a sharer (`runForAll`), so that the bounds of the caller that began it do not delay the others.
 */

const sharers = new AsyncLocalStorage<Sharer | undefined>()

/** Everything that `begin` starts is work for that caller. */
export function runFor(sharer: Sharer, begin: () => void): void {
  sharers.run(sharer, begin)
}

/** Work started by `begin` is shared, whichever caller's request started it. */
export function runForAll<Result>(begin: () => Result): Result {
  return sharers.run(undefined, begin)
}

/** Undefined: no request caused this work, or several share it. */
export function currentSharer(): Sharer | undefined {
  return sharers.getStore()
}
