import { monotonicClock } from '../../../src/kernel/clock.ts'

/** Counts of one route since the start or the last reset. */
export interface RouteCounts {
  readonly count: number
  readonly in_flight: number
  readonly max_in_flight: number
  /** Most requests that began within one second of the machine's clock. */
  readonly max_per_second: number
  /** Answers by status; `none` counts exchanges that ended without one. */
  readonly by_status: Readonly<Record<string, number>>
}

class Tally {
  count = 0
  inFlight = 0
  maxInFlight = 0
  maxPerSecond = 0
  readonly byStatus = new Map<string, number>()
  #second = 0
  #inSecond = 0

  enter(): void {
    this.count += 1
    this.inFlight += 1
    this.maxInFlight = Math.max(this.maxInFlight, this.inFlight)
    const second = Math.floor(monotonicClock.nowMs() / 1000)
    this.#inSecond = second === this.#second ? this.#inSecond + 1 : 1
    this.#second = second
    this.maxPerSecond = Math.max(this.maxPerSecond, this.#inSecond)
  }

  leave(status: string): void {
    this.inFlight -= 1
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1)
  }

  view(): RouteCounts {
    return {
      count: this.count,
      in_flight: this.inFlight,
      max_in_flight: this.maxInFlight,
      max_per_second: this.maxPerSecond,
      by_status: Object.fromEntries(this.byStatus),
    }
  }
}

/** Request counts by route (`<family>.<op>`) and in all, control routes left out. */
export class RequestCounters {
  #all = new Tally()
  #routes = new Map<string, Tally>()

  /** Counts a request in; call the result once with its status, or null when it got no answer. */
  enter(route: string): (status: number | null) => void {
    const all = this.#all
    const tally = this.#routes.get(route) ?? new Tally()
    this.#routes.set(route, tally)
    all.enter()
    tally.enter()
    return (status) => {
      const key = status === null ? 'none' : String(status)
      all.leave(key)
      tally.leave(key)
    }
  }

  view(): { readonly all: RouteCounts; readonly routes: Readonly<Record<string, RouteCounts>> } {
    const routes = [...this.#routes].map(([name, tally]) => [name, tally.view()] as const)
    return { all: this.#all.view(), routes: Object.fromEntries(routes) }
  }

  reset(): void {
    this.#all = new Tally()
    this.#routes = new Map()
  }
}
