import { monotonicClock } from '../../kernel/clock.ts'
import { logUnavailable } from './errors.ts'
import type { EventLogLimits } from './limits.ts'
import type { EventLogObserver } from './types.ts'

export type LogCall = 'append' | 'read'

/**
 * Whether the log takes appends and answers reads: a small breaker for each, with probes in the
 * background while one of them is open. Each is closed only by a call of its own kind: a full disk,
 * or a leader without followers, still answers reads.
 */
export interface Health {
  readonly succeeded: (call: LogCall) => void
  readonly failed: (call: LogCall) => void
  /** The log answers and refuses our account, which no further try changes. */
  readonly denied: (call: LogCall, reason: string) => void
  readonly healthy: () => boolean
  /** Which call of our account is refused and in what words, while it is. */
  readonly denial: () => string | undefined
  /**
   * Resolves at once while the log is well. In the first moments of an outage a bounded number of
   * callers waits for its end, since a change of leader takes that long; later nobody waits.
   * @throws `log_unavailable`
   */
  readonly admit: () => Promise<void>
  readonly close: () => void
}

interface Facet {
  failures: number
  open: boolean
  denial: string | undefined
}

/** `probe` resolves when the log takes such a call; it has a timeout of its own. */
export function createHealth(deps: {
  readonly probe: (call: LogCall) => Promise<void>
  readonly limits: EventLogLimits
  readonly observer: EventLogObserver
}): Health {
  const { limits, observer } = deps
  const fresh = (): Facet => ({ failures: 0, open: false, denial: undefined })
  const facets: Readonly<Record<LogCall, Facet>> = { append: fresh(), read: fresh() }
  const waiting = new Set<(well: boolean) => void>()
  let closed = false
  /** When the failures began that nothing has ended yet. */
  let sinceMs: number | undefined
  let timer: NodeJS.Timeout | undefined

  const healthy = () => !facets.append.open && !facets.read.open
  const wake = (well: boolean) => {
    for (const resolve of waiting) resolve(well)
    waiting.clear()
  }
  const changed = (before: boolean) => {
    const now = healthy()
    if (now && facets.append.failures + facets.read.failures === 0) sinceMs = undefined
    if (now === before) return
    observer.healthChanged?.(now)
    if (now) wake(true)
    else schedule()
  }
  const schedule = () => {
    if (closed || timer !== undefined) return
    timer = setTimeout(() => {
      const open = (['append', 'read'] as const).filter((call) => facets[call].open)
      void Promise.all(open.map(probe)).then(() => {
        timer = undefined
        if (!healthy()) schedule()
      })
    }, limits.probeIntervalMs).unref()
  }
  const probe = async (call: LogCall): Promise<void> => {
    try {
      await deps.probe(call)
      succeeded(call)
    } catch {
      // The next one may be luckier.
    }
  }
  const succeeded = (call: LogCall) => {
    const facet = facets[call]
    if (facet.failures === 0 && !facet.open) return
    const before = healthy()
    Object.assign(facet, fresh())
    changed(before)
  }
  const fail = (call: LogCall, most: number, denial?: string) => {
    const facet = facets[call]
    const before = healthy()
    facet.failures += 1
    facet.denial = denial
    sinceMs ??= monotonicClock.nowMs()
    if (facet.failures >= most && !closed) facet.open = true
    changed(before)
  }
  return {
    succeeded,
    failed: (call) => fail(call, limits.unhealthyAfterFailures),
    denied: (call, reason) => fail(call, 1, reason),
    healthy,
    denial: () => {
      const call = (['append', 'read'] as const).find((one) => facets[one].denial !== undefined)
      return call && `${call}: ${facets[call].denial ?? ''}`
    },
    admit: async () => {
      if (healthy()) return
      const leftMs = (sinceMs ?? 0) + limits.outagePatienceMs - monotonicClock.nowMs()
      if (leftMs <= 0 || waiting.size >= limits.maxWaitingCallers || closed)
        throw logUnavailable('it does not answer')
      const well = await new Promise<boolean>((resolve) => {
        const end = (came: boolean) => {
          clearTimeout(patience)
          waiting.delete(end)
          resolve(came)
        }
        const patience = setTimeout(() => end(false), leftMs)
        waiting.add(end)
      })
      if (!well) throw logUnavailable('it does not answer')
    },
    close: () => {
      closed = true
      clearTimeout(timer)
      wake(false)
    },
  }
}
