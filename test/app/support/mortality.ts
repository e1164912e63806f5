import type { CrashPoint, CrashPointName } from '../../../src/app/crash-points.ts'
import type { EventLog } from '../../../src/eventlog/log/types.ts'
import { DomainError } from '../../../src/kernel/errors.ts'

/** What a process is that is as good as dead once it reaches a point: nothing it does has an effect. */
export interface Mortality {
  readonly isDead: () => boolean
  readonly log: EventLog
  readonly crashPoint: CrashPoint
}

export function mortality(log: EventLog, at: CrashPointName): Mortality {
  let dead = false
  return {
    isDead: () => dead,
    log: {
      ...log,
      append: (...given) =>
        dead
          ? Promise.reject(new DomainError('log_unavailable', 'dead', {}))
          : log.append(...given),
    },
    crashPoint: (name) => {
      if (dead || name === at) {
        dead = true
        throw new Error(`died at ${at}`)
      }
    },
  }
}
