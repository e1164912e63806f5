import { callFailures as ofEveryCall } from '../../../api/kit/call-failures.ts'
import type { FailureCode } from '../../../api/kit/failure-table.ts'
import type { SurfaceFailures } from '../../../api/kit/surface-failures.ts'
import { creationFailures as ofEveryCreation } from '../../../api/kit/task-failures.ts'
import {
  eitherVersion,
  INVALID,
  RATE_LIMITED,
  UNKNOWN_ERROR,
} from '../../../api/kit/numbered-failures.ts'

/** Numbers of `base_resp.status_code` that this version has besides. */
const TIMEOUT = '1001'
const DOWNSTREAM = '1033'
const DUPLICATE_VOICE = '2039'
const NO_SUCH_VOICE = '2042'

/** What cannot be found is a wrong parameter here, told with HTTP 200. */
const notFound = { code: INVALID, status: 400 } as const

/** What can fail on `/provB/v1`, whatever is asked for there. */
export const speechFailures = {
  ...eitherVersion,
  route_not_found: INVALID,
  no_channel: UNKNOWN_ERROR,
  // The voice, or what one is made of, is at an account that cannot be asked now.
  kept_unavailable: {
    code: UNKNOWN_ERROR,
    words:
      'The voice or its file is kept where the model is not available at the moment; nothing was started',
  },
  voice_not_found: { code: NO_SUCH_VOICE, status: 400 },
  voice_exists: { code: DUPLICATE_VOICE, status: 400 },
  file_not_found: notFound,
  task_not_found: notFound,
  result_not_available: notFound,
  storage_not_configured: UNKNOWN_ERROR,
  storage_unavailable: UNKNOWN_ERROR,
  object_too_large: INVALID,
  storage_full: UNKNOWN_ERROR,
  upload_quota_reached: RATE_LIMITED,
  idempotency_in_progress: RATE_LIMITED,
  idempotency_answer_not_kept: INVALID,
  submission_refused: DOWNSTREAM,
  submission_uncertain: DOWNSTREAM,
  call_refused: DOWNSTREAM,
  refused_unavailable: DOWNSTREAM,
  refused_timeout: TIMEOUT,
  refused_malformed: DOWNSTREAM,
  upstream_unavailable: DOWNSTREAM,
  upstream_timeout: TIMEOUT,
  upstream_malformed: DOWNSTREAM,
} as const satisfies SurfaceFailures

const ofVoices: readonly FailureCode[] = ['voice_not_found', 'kept_unavailable']

/** What a call can fail with, before it is sent and afterwards. */
export const callFailures: readonly FailureCode[] = [
  ...ofEveryCall,
  'parameter_invalid',
  ...ofVoices,
]

/** What taking a task can fail with. */
export const creationFailures: readonly FailureCode[] = [
  ...ofEveryCreation.filter((failure) => failure !== 'invalid_duration'),
  ...ofVoices,
]
