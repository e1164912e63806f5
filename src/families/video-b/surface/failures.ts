import type { FailureCode } from '../../../api/kit/failure-table.ts'
import type { SurfaceFailures } from '../../../api/kit/surface-failures.ts'
import { creationFailures, modelAway } from '../../../api/kit/task-failures.ts'
import { eitherVersion, INVALID, UNKNOWN_ERROR } from '../../../api/kit/numbered-failures.ts'

/** What can fail on the `/provB` video routes. */
export const videoFailures = {
  ...eitherVersion,
  route_not_found: UNKNOWN_ERROR,
  invalid_duration: INVALID,
  no_channel: { ...modelAway, code: UNKNOWN_ERROR },
  kept_unavailable: {
    code: UNKNOWN_ERROR,
    words: 'The account that has the uploaded files is not available at the moment',
    retry: 'never',
  },
  idempotency_in_progress: INVALID,
  submission_refused: UNKNOWN_ERROR,
  submission_uncertain: UNKNOWN_ERROR,
  refused_unavailable: UNKNOWN_ERROR,
  refused_timeout: UNKNOWN_ERROR,
  refused_malformed: UNKNOWN_ERROR,
  // Upstream's own words: another tenant's task reads exactly like none (P8).
  task_not_found: { code: UNKNOWN_ERROR, words: 'record not found' },
} as const satisfies SurfaceFailures

export const createFailures: readonly FailureCode[] = [...creationFailures, 'kept_unavailable']
