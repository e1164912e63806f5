import { DomainError } from '../../kernel/errors.ts'

/** Concurrent requests of callers to one library; further ones are refused. */
const MAX_UNDER_WAY = 128

/** Bounds the callers' concurrent requests to each library (P10). */
export interface LibraryConcurrency {
  /** @throws DomainError `overloaded` when the library is at its limit */
  readonly run: <Result>(channelId: string, work: () => Promise<Result>) => Promise<Result>
}

export function createLibraryConcurrency(max = MAX_UNDER_WAY): LibraryConcurrency {
  const underWay = new Map<string, number>()
  return {
    run: async (channelId, work) => {
      const count = underWay.get(channelId) ?? 0
      if (count >= max) throw new DomainError('overloaded', 'the asset library is busy', {})
      underWay.set(channelId, count + 1)
      try {
        return await work()
      } finally {
        underWay.set(channelId, (underWay.get(channelId) ?? 1) - 1)
      }
    },
  }
}
