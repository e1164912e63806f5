/**
 * Maximum number of streams that one process, and one token, reads to their end after their callers
 * disconnected (P10).
 */
const MAX_DRAINS = 32
const MAX_DRAINS_PER_TOKEN = 8

/**
 * Places for reading a stream to its end after its caller disconnected. If many callers disconnect
 * at the same time, further streams wait, with their upstreams paused, until a place is free or
 * their time is over.
 */
export interface Drains {
  readonly enter: (tokenId: string) => DrainPlace
}

/** A place, or the wait for one. */
export interface DrainPlace {
  /** Resolves once the place is free for it, or `stopWaiting` was called. */
  readonly ready: Promise<void>
  readonly stopWaiting: () => void
  /** Gives the place back, or stops waiting. */
  readonly leave: () => void
}

export function createDrains(
  maxDrains: number = MAX_DRAINS,
  maxPerToken: number = MAX_DRAINS_PER_TOKEN,
): Drains {
  let running = 0
  const runningOf = new Map<string, number>()
  /** In the order in which the tokens get the next place. */
  const waiting = new Map<string, Set<() => void>>()

  const hasRoom = (tokenId: string): boolean =>
    running < maxDrains && (runningOf.get(tokenId) ?? 0) < maxPerToken
  const startNext = (): void => {
    for (const [tokenId, begins] of waiting) {
      const [begin] = begins
      if (begin === undefined || !hasRoom(tokenId)) continue
      begins.delete(begin)
      // The next stream of this token waits behind those of other tokens.
      waiting.delete(tokenId)
      if (begins.size > 0) waiting.set(tokenId, begins)
      return begin()
    }
  }
  return {
    enter: (tokenId) => {
      let state: 'waiting' | 'running' | 'over' = 'waiting'
      let stopWaiting = (): void => undefined
      const ready = new Promise<void>((resolve) => (stopWaiting = resolve))
      const begin = (): void => {
        state = 'running'
        running += 1
        runningOf.set(tokenId, (runningOf.get(tokenId) ?? 0) + 1)
        stopWaiting()
      }
      if (hasRoom(tokenId)) begin()
      else waiting.set(tokenId, (waiting.get(tokenId) ?? new Set()).add(begin))
      const leave = (): void => {
        const before = state
        state = 'over'
        if (before === 'waiting') {
          const others = waiting.get(tokenId)
          others?.delete(begin)
          if (others?.size === 0) waiting.delete(tokenId)
        }
        if (before !== 'running') return
        running -= 1
        const left = (runningOf.get(tokenId) ?? 1) - 1
        if (left > 0) runningOf.set(tokenId, left)
        else runningOf.delete(tokenId)
        startNext()
      }
      return { ready, stopWaiting, leave }
    },
  }
}
