import { isOutage } from '../api/kit/bounds/drain.ts'
import { isDomainError } from '../kernel/errors.ts'

/** Failures of a start that end once a store answers again. */

/** As `/readyz` names them. */
export type StoreName = 'event_log' | 'postgres'

/** Codes of Postgres: read-only after a change of its primary; a lock, or a deadlock with another start. */
const PASSING: ReadonlySet<unknown> = new Set(['25006', '55P03', '40P01', '40001'])

/** Depth of causes and of errors within errors that is looked at. */
const MAX_DEPTH = 4

/** The store that is unavailable; undefined for a failure that waiting does not solve. */
export function unavailableStoreOf(error: unknown, depth = 0): StoreName | undefined {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return undefined
  if (isDomainError(error)) {
    const isOfLog = error.code === 'log_unavailable' || error.code === 'log_outcome_unknown'
    if (isOfLog) return 'event_log'
  }
  if (isUnavailable(error)) return 'postgres'
  return unavailableStoreOf(error.cause, depth + 1)
}

function isUnavailable(error: Error): boolean {
  const code: unknown = Reflect.get(error, 'code')
  // A missing file stays missing; a socket may appear.
  if (code === 'ENOENT' && Reflect.get(error, 'syscall') !== 'connect') return false
  return PASSING.has(code) || isOutage(error)
}
