import { monotonicClock } from '../../kernel/clock.ts'
import { logUnavailable } from './errors.ts'
import type { EventLogLimits } from './limits.ts'
import type { EventLogObserver } from './types.ts'

export type LogCall = 'append' | 'read'

/**
 * Whether the log takes appends and answers reads: a small breaker for each, with probes in the
 * background while one of them is open. Each is closed only by a call of the same kind: a full
 * disk, or a leader without followers, still answers reads.
 */
export interface Health {
  readonly succeeded: (call: LogCall) => void
  readonly failed: (call: LogCall) => void
  /** The log answers and refuses the gateway's account; a further try would not change that. */
  readonly denied: (call: LogCall, reason: string) => void
  readonly healthy: () => boolean
  /**
   * The kind of call that the log refuses to the gateway's account at the moment, and its message.
   */
  readonly denial: () => string | undefined
  /**
   * Resolves immediately while the log is healthy. In the first moments of an outage a bounded
   * number of callers waits for its end, because a change of leader takes that long; later callers
   * do not wait.
   * @throws `log_unavailable`
   */
  readonly admit: () => Promise<void>
  readonly close: () => void
}

interface HealthDeps {
  /** Resolves when the log accepts a call of this kind; it has a timeout. */
  readonly probe: (call: LogCall) => Promise<void>
  /** Why the log cannot be reached, where that is known. */
  readonly why?: () => string | undefined
  readonly limits: EventLogLimits
  readonly observer: EventLogObserver
}

export function createHealth(deps: HealthDeps): Health {
  const { limits, observer } = deps
  const facets = new Facets()
  const waiting = new WaitingCallers()
  let closed = false
  let timer: NodeJS.Timeout | undefined

  const changed = (before: boolean) => {
    const now = facets.isHealthy()
    if (now === before) return
    observer.healthChanged?.(now)
    if (now) waiting.wake(true)
    else schedule()
  }
  const schedule = () => {
    if (closed || timer !== undefined) return
    timer = setTimeout(() => {
      void Promise.all(facets.open().map(probe)).then(() => {
        timer = undefined
        if (!facets.isHealthy()) schedule()
      })
    }, limits.probeIntervalMs).unref()
  }
  const probe = async (call: LogCall): Promise<void> => {
    try {
      await deps.probe(call)
      succeeded(call)
    } catch {
      // The next probe may succeed.
    }
  }
  const succeeded = (call: LogCall) => {
    const before = facets.isHealthy()
    if (facets.clear(call)) changed(before)
  }
  const fail = (call: LogCall, most: number, denial?: string) => {
    const before = facets.isHealthy()
    facets.fail(call, closed ? Infinity : most, denial)
    changed(before)
  }
  return {
    succeeded,
    failed: (call) => fail(call, limits.unhealthyAfterFailures),
    denied: (call, reason) => fail(call, 1, reason),
    healthy: () => facets.isHealthy(),
    denial: () => facets.denial(),
    admit: async () => {
      if (facets.isHealthy()) return
      const leftMs = facets.sinceMs() + limits.outagePatienceMs - monotonicClock.nowMs()
      const mayWait = leftMs > 0 && waiting.size < limits.maxWaitingCallers && !closed
      if (!mayWait || !(await waiting.wait(leftMs)))
        throw logUnavailable(deps.why?.() ?? 'it does not answer')
    },
    close: () => {
      closed = true
      clearTimeout(timer)
      waiting.wake(false)
    },
  }
}

const calls = ['append', 'read'] as const

interface Facet {
  failures: number
  open: boolean
  denial: string | undefined
}

const fresh = (): Facet => ({ failures: 0, open: false, denial: undefined })

/** The breaker of each kind of call. */
class Facets {
  readonly #byCall: Readonly<Record<LogCall, Facet>> = { append: fresh(), read: fresh() }
  /** Start of the present failures. */
  #sinceMs: number | undefined

  isHealthy(): boolean {
    return !this.#byCall.append.open && !this.#byCall.read.open
  }

  open(): readonly LogCall[] {
    return calls.filter((call) => this.#byCall[call].open)
  }

  denial(): string | undefined {
    const call = calls.find((one) => this.#byCall[one].denial !== undefined)
    return call && `${call}: ${this.#byCall[call].denial ?? ''}`
  }

  sinceMs(): number {
    return this.#sinceMs ?? 0
  }

  /** Records a success; returns whether it ended an outage. */
  clear(call: LogCall): boolean {
    const { append, read } = this.#byCall
    const facet = this.#byCall[call]
    if (facet.failures === 0 && !facet.open) return false
    Object.assign(facet, fresh())
    if (this.isHealthy() && append.failures + read.failures === 0) this.#sinceMs = undefined
    return true
  }

  /** The breaker opens at the failure with this number. */
  fail(call: LogCall, most: number, denial: string | undefined): void {
    const facet = this.#byCall[call]
    facet.failures += 1
    facet.denial = denial
    this.#sinceMs ??= monotonicClock.nowMs()
    if (facet.failures >= most) facet.open = true
  }
}

/** Callers that wait for the end of an outage. */
class WaitingCallers {
  readonly #ends = new Set<(well: boolean) => void>()

  get size(): number {
    return this.#ends.size
  }

  /** Whether the log recovered in time. */
  wait(leftMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (well: boolean) => {
        clearTimeout(patience)
        this.#ends.delete(end)
        resolve(well)
      }
      const patience = setTimeout(() => end(false), leftMs)
      this.#ends.add(end)
    })
  }

  wake(well: boolean): void {
    for (const end of this.#ends) end(well)
  }
}
