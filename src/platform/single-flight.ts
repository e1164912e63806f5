import { runForAll } from './sharer-context.ts'

/** Joins calls for the same key that overlap in time: one runs, all get its outcome. */
interface SingleFlight<Result> {
  readonly run: (key: string, work: () => Promise<Result>) => Promise<Result>
  readonly size: () => number
}

/** Bounded by the number of keys under way: nothing is kept after the work ended. */
export function createSingleFlight<Result>(): SingleFlight<Result> {
  const underWay = new Map<string, Promise<Result>>()
  return {
    size: () => underWay.size,
    run: (key, work) => {
      const joined = underWay.get(key)
      if (joined !== undefined) return joined
      const started = runForAll(work).finally(() => underWay.delete(key))
      underWay.set(key, started)
      return started
    },
  }
}
