import type { EventLogLimits } from './limits.ts'
import type { EventLogObserver } from './observer.ts'

/** A small breaker: whether the last calls worked, with a probe in the background while not. */
export interface Health {
  readonly succeeded: (call: 'append' | 'read') => void
  readonly failed: (call: 'append' | 'read') => void
  readonly healthy: () => boolean
  readonly close: () => void
}

/** `probe` resolves when the log answers; it has a timeout of its own. */
export function createHealth(deps: {
  readonly probe: () => Promise<void>
  readonly limits: EventLogLimits
  readonly observer: EventLogObserver
}): Health {
  const { limits, observer } = deps
  let failures = 0
  let healthy = true
  let closed = false
  /** A log that answers reads may still refuse appends (disk full): give those time. */
  let holdUntilMs = 0
  let timer: NodeJS.Timeout | undefined

  const change = (to: boolean) => {
    if (healthy === to) return
    healthy = to
    observer.healthChanged?.(to)
  }
  const recover = () => {
    failures = 0
    clearTimeout(timer)
    timer = undefined
    change(true)
  }
  const schedule = () => {
    if (closed) return
    timer = setTimeout(() => {
      deps.probe().then(() => {
        if (performance.now() >= holdUntilMs) recover()
        else schedule()
      }, schedule)
    }, limits.probeIntervalMs).unref()
  }
  return {
    succeeded: (call) => {
      if (healthy) failures = 0
      else if (call === 'append' || performance.now() >= holdUntilMs) recover()
    },
    failed: (call) => {
      failures += 1
      if (call === 'append') holdUntilMs = performance.now() + limits.probeIntervalMs
      if (failures < limits.unhealthyAfterFailures || closed) return
      change(false)
      if (timer === undefined) schedule()
    },
    healthy: () => healthy,
    close: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}
