import { logUnavailable } from './errors.ts'

/** A bounded number of places and a bounded queue in front of them, first come first served. */
export interface Gate {
  /** Waits for a place and returns the function that leaves it. @throws `log_unavailable` */
  readonly enter: (maxWaitMs: number) => Promise<() => void>
}

export function createGate(places: number, maxQueued: number): Gate {
  let free = places
  const queue = new Set<() => void>()
  const leave = () => {
    const [next] = queue
    if (next === undefined) free += 1
    else {
      queue.delete(next)
      next()
    }
  }
  return {
    enter: (maxWaitMs) => {
      if (free > 0) {
        free -= 1
        return Promise.resolve(leave)
      }
      if (queue.size >= maxQueued)
        return Promise.reject(logUnavailable('too many appends are waiting'))
      return new Promise((resolve, reject) => {
        const admit = () => {
          clearTimeout(timer)
          resolve(leave)
        }
        const timer = setTimeout(() => {
          queue.delete(admit)
          reject(logUnavailable('appends ahead took too long'))
        }, maxWaitMs)
        queue.add(admit)
      })
    },
  }
}
