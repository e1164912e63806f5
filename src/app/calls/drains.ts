import { type Sharer, type Shares, SharedUse } from '../../kernel/sharers.ts'

/**
 * Maximum number of streams that one process, one user and one tenant read to their end after their
 * callers disconnected (P10).
 */
const MAX_DRAINS = 32
const DRAIN_SHARES: Shares = { perUser: 8, perTenant: 16 }

/**
 * Places for reading a stream to its end after its caller disconnected. If many callers disconnect
 * at the same time, further streams wait, with their upstreams paused, until a place is free or
 * their time is over.
 */
export interface Drains {
  readonly enter: (sharer: Sharer) => DrainPlace
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
  shares: Shares = DRAIN_SHARES,
): Drains {
  let running = 0
  const used = new SharedUse(shares)
  /** In the order in which the users get the next place. */
  const waiting = new Map<string, { readonly sharer: Sharer; readonly begins: Set<() => void> }>()

  const hasRoom = (sharer: Sharer): boolean => running < maxDrains && used.fits(sharer)
  const startNext = (): void => {
    for (const [user, { sharer, begins }] of waiting) {
      const [begin] = begins
      if (begin === undefined || !hasRoom(sharer)) continue
      begins.delete(begin)
      // The next stream of this user waits behind those of others.
      waiting.delete(user)
      if (begins.size > 0) waiting.set(user, { sharer, begins })
      return begin()
    }
  }
  return {
    enter: (sharer) => {
      const { user } = sharer
      let state: 'waiting' | 'running' | 'over' = 'waiting'
      let stopWaiting = (): void => undefined
      const ready = new Promise<void>((resolve) => (stopWaiting = resolve))
      const begin = (): void => {
        state = 'running'
        running += 1
        used.add(sharer)
        stopWaiting()
      }
      if (hasRoom(sharer)) begin()
      else {
        const begins = waiting.get(user)?.begins ?? new Set()
        waiting.set(user, { sharer, begins: begins.add(begin) })
      }
      const leave = (): void => {
        const before = state
        state = 'over'
        if (before === 'waiting') {
          const others = waiting.get(user)?.begins
          others?.delete(begin)
          if (others?.size === 0) waiting.delete(user)
        }
        if (before !== 'running') return
        running -= 1
        used.add(sharer, -1)
        startNext()
      }
      return { ready, stopWaiting, leave }
    },
  }
}
