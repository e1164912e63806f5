import type { Failure } from './surface-failures.ts'

/** What departs from the table once more is known of a failure than what it is. */

/**
 * What is said of a failure of ours once a task has its id: it may have been submitted, so a retry
 * by itself could make a second one. A refusal certainly started nothing.
 */
export function afterAcceptance(failure: Failure): Failure {
  const { rule, retry } = failure
  if (failure.text('platformId') === undefined || rule.status < 500) return failure
  if (/^(?:refused_|submission_refused)/.test(failure.failure)) return failure
  if (rule.status !== 503 || typeof retry !== 'number') return { ...failure, retry: 'never' }
  const message =
    'The service failed midway; query the task by the x-platform-id of this answer before creating another'
  return { ...failure, message, retry: 'never' }
}

/**
 * What is said of a failed call once it was sent: it may have been made, and would be made and charged
 * twice.
 */
export function afterSending(failure: Failure): Failure {
  // The result is there and withheld, because it could not be written down (P3).
  if (failure.failure === 'log_unavailable' && failure.text('callId') !== undefined)
    return {
      ...failure,
      message: 'The call could not be recorded, so its result is withheld',
      retry: 'never',
    }
  // It could not be told whether its key is still its own. Under the key it is safe to try again.
  if (failure.failure === 'database_unavailable' && failure.text('callId') !== undefined)
    return {
      ...failure,
      message:
        'The Idempotency-Key could not be checked, so the result is withheld and not charged',
    }
  const acceptance = failure.text('acceptance') ?? 'ruled_out'
  return acceptance === 'ruled_out' || failure.rule.status < 500
    ? failure
    : { ...failure, retry: 'never' }
}
