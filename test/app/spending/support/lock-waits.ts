import { Client } from 'pg'
import type { Test } from 'tap'

/** How long each transaction that is begun from now on may wait for its lock, in milliseconds, in their order. */
export function captureLockWaits(t: Test): () => readonly number[] {
  const { calls } = captureQueries(t)
  return () =>
    calls.flatMap(([query]) => {
      const [, waitMs] = /set local lock_timeout = (\d+)/.exec(String(query)) ?? []
      return waitMs === undefined ? [] : [Number(waitMs)]
    })
}

function captureQueries(t: Test): { readonly calls: readonly (readonly unknown[])[] } {
  const calls: unknown[][] = []
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the client that it is of
  const original: (...args: unknown[]) => unknown = Client.prototype.query
  t.capture(Client.prototype, 'query', function (this: Client, ...args: unknown[]) {
    calls.push(args)
    return Reflect.apply(original, this, args)
  } as never)
  return { calls }
}
