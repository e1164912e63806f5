import type { ProviderErrorKind } from '../../../app/ports/provider.ts'
import { type SettingCode, settingCodes } from '../../../domain/account/settings.ts'
import type { DomainCode } from '../../../kernel/errors.ts'
import { ofAdministration } from './administration-failures.ts'
import { type FailureRow, own } from './failure-row.ts'
import type { RequestFault } from '../request-error.ts'

/** The one mapping of failures to HTTP. */

/** Settings of accounts, and the issuer of statements, fail each under its own name. */
type SettingName = SettingCode | 'issuer'
type SettingFailure = `${SettingName}_${'invalid' | 'changed'}`

/** Everything a request can fail with; a refusal by the model service is one for each reason it has. */
export type FailureCode =
  | DomainCode
  | RequestFault
  | `refused_${ProviderErrorKind}`
  | SettingFailure

const away: FailureRow = {
  status: 503,
  words: 'The service cannot take this request at the moment; nothing was started',
  retry: 2_000,
}
const broken: FailureRow = {
  status: 500,
  words: 'Internal error; quote the x-request-id of this answer',
  retry: 'never',
}
const noStorage = 'This gateway has no object storage, which this request needs'
const notTaken = 'The model service could not take the task; none was created'

const ofRequests: Readonly<Record<RequestFault, FailureRow>> = {
  route_not_found: own(404, 'There is no such route'),
  method_not_allowed: own(405, 'The path has no such method'),
  not_offered: own(404, 'This gateway does not offer that'),
  url_invalid: own(400, 'The URL is not valid'),
  headers_too_large: own(431, 'The request line and headers are too large'),
  unauthenticated: own(401, 'The token is not valid'),
  wrong_token_kind: own(403, 'This path needs another kind of token'),
  role_denied: own(403, 'This route is not for tokens of this role'),
  address_not_allowed: own(403, 'The token may not be used from this address'),
  body_empty: own(400, 'The request body is empty'),
  body_invalid: own(400, 'The request body must be a JSON object'),
  body_too_large: own(413, 'The request body is too large'),
  media_type_unsupported: own(415, 'The request body must be sent as application/json'),
  parameter_invalid: own(400, 'A parameter or header is not valid'),
  overloaded: { ...away, words: 'The service is busy; nothing was started' },
  query_too_long: own(422, 'The query reads too much', 'never'),
  outage: away,
  internal: broken,
}

const ofUpstream = {
  no_channel: {
    status: 503,
    words: 'The model is not available at the moment; nothing was started',
    retry: 5_000,
  },
  // Upstream may have done the work and may charge for it: a retry would do it twice.
  call_refused: own(502, 'The model service refused the call', 'never'),
  submission_refused: { status: 502, words: notTaken, retry: 'never' },
  submission_uncertain: {
    status: 502,
    words:
      'The model service gave no clear answer; the task may exist: query it by the x-platform-id of this answer before creating another',
    retry: 'never',
  },
  upstream_unavailable: own(502, 'The model service cannot be reached at the moment', 2_000),
  // Clients of wires that have this status wait, and repeat other failures of a server at once.
  upstream_overloaded: own(529, 'The model service is overloaded at the moment', 2_000),
  upstream_timeout: own(504, 'The model service did not answer in time', 'never'),
  call_cut_off: {
    status: 503,
    words: 'The gateway stopped before the model service had answered; nothing is charged',
    retry: 2_000,
  },
  upstream_malformed: own(502, 'The model service gave an unreadable answer', 'never'),
  refused_invalid: own(400, 'The model service gave no reason'),
  refused_rate_limited: own(429, 'The model service is at its limit', 1_000),
  // The operator's credential, contract or balance upstream: never the caller's fault.
  refused_account: {
    status: 503,
    words: 'The model service is not available to this gateway at the moment',
    retry: 'never',
  },
  refused_unavailable: { status: 502, words: notTaken, retry: 2_000 },
  refused_timeout: { status: 502, words: notTaken, retry: 2_000 },
  refused_malformed: { status: 502, words: notTaken, retry: 'never' },
} as const satisfies Partial<Record<FailureCode, FailureRow>>

const ofStores = {
  log_unavailable: away,
  log_access_denied: broken,
  log_outcome_unknown: {
    status: 503,
    words:
      'The service did not confirm this request in time and may have recorded it; check before you retry',
    retry: 'never',
  },
  wrong_expected_revision: away,
  append_too_large: own(413, 'The request is too large to be recorded'),
  event_invalid: broken,
  database_unavailable: away,
  storage_not_configured: { status: 503, words: noStorage, retry: 'never' },
  storage_unavailable: { ...away, words: 'Object storage cannot be used at the moment' },
  object_too_large: own(413, 'The file is too large'),
  storage_full: { status: 507, words: 'Storage is full at the moment', retry: 30_000 },
  upload_quota_reached: own(429, 'The tenant is at its limit of uploads', 'never'),
  read_model_behind: away,
} as const satisfies Partial<Record<FailureCode, FailureRow>>

/** Makes the row of a surface for each failure of each setting. */
export function forSettings<Row>(
  make: (code: SettingName, fault: 'invalid' | 'changed') => Row,
): Readonly<Record<SettingFailure, Row>> {
  const faults = ['invalid', 'changed'] as const
  const names: readonly SettingName[] = [...settingCodes, 'issuer']
  return Object.fromEntries(
    names.flatMap((code) =>
      faults.map((fault) => [`${code}_${fault}`, make(code, fault)] as const),
    ),
  ) as Record<SettingFailure, Row>
}

const ofSettings = forSettings((code, fault) => {
  const name = code.replaceAll('_', ' ')
  return fault === 'invalid'
    ? own(400, `The setting ${name} is not valid`)
    : own(409, `The setting ${name} was changed in the meantime`, 'never')
})

const ofVoices = {
  voice_exists: own(409, 'A voice with this voice_id already exists', 'never'),
} as const satisfies Partial<Record<FailureCode, FailureRow>>

const ofAssets = {
  // Constant texts: another tenant's object reads exactly like a missing one (P8).
  asset_not_found: { status: 404, words: 'The specified asset was not found' },
  asset_group_not_found: { status: 404, words: 'The specified asset group was not found' },
  verification_not_found: {
    status: 404,
    words:
      'The verification was not found: it has expired, or the credential belongs to no verification',
  },
  asset_not_active: own(400, 'The asset cannot be used now'),
  asset_region_mismatch: own(400, 'The asset is not in the region of the model'),
  asset_action_not_enabled: own(403, 'The action is not enabled for the general library'),
  channel_not_available: {
    status: 503,
    words: 'No channel of that region has this capability; nothing was started',
    retry: 'never',
  },
} as const satisfies Partial<Record<FailureCode, FailureRow>>

const ofImages = {
  n_not_supported: own(400, 'This number of images per request is not supported'),
  unsupported_image_input: own(400, 'This form of image input is not supported here'),
  image_too_large: own(413, 'An image is too large'),
  content_policy_violation: own(400, 'The request was rejected by the content policy'),
  suspected_black_image: {
    status: 502,
    words: 'The model service gave a black image; it is not billed',
    retry: 'never',
  },
  invalid_image_url: own(400, 'An image URL cannot be read'),
  no_image_generated: own(422, 'The model service made no image'),
  image_url_not_available: {
    status: 503,
    words:
      'URLs of images are not available here; nothing was started. Ask for response_format b64_json',
    retry: 'never',
  },
  // A retry would make and charge them again.
  image_not_kept: {
    status: 503,
    words: 'The images were made and could not be kept; they are not billed',
    retry: 'never',
  },
} as const satisfies Partial<Record<FailureCode, FailureRow>>

/**
 * Status, retry advice and message of every failure; a surface adds its names and its differences.
 */
export const failureTable: Readonly<Record<FailureCode, FailureRow>> = {
  ...ofRequests,
  ...ofUpstream,
  ...ofStores,
  ...ofAdministration,
  ...ofSettings,
  ...ofVoices,
  ...ofImages,
  ...ofAssets,
  invalid_request: own(400, 'A field of the request is missing or not valid'),
  invalid_duration: own(400, 'The model does not support this duration'),
  invalid_cursor: own(400, 'The cursor must be a next_cursor of this query'),
  unknown_model: own(404, 'The model does not exist or may not be used'),
  model_not_allowed: own(403, 'This token may not use that model'),
  scope_denied: own(403, 'This token may not read that tenant_id'),
  // One constant text each: another tenant's task or receipt reads exactly like a missing one (P8).
  receipt_not_found: { status: 404, words: 'Nothing has this id that this token may see' },
  life_not_found: { status: 404, words: 'Nothing has this id that this token may see' },
  task_not_found: { status: 404, words: 'The specified task was not found' },
  // A constant text, as for tasks, and the one of a voice that upstream does not have.
  voice_not_found: { status: 404, words: 'The voice_id names no voice that can be used here' },
  file_not_found: { status: 404, words: 'The file does not exist' },
  task_running: {
    status: 409,
    words: 'A task that is running cannot be deleted',
    retry: 'never',
  },
  task_ended: own(409, 'The task has ended', 'never'),
  result_not_available: own(404, 'The task has no such file'),
  task_state_conflict: broken,
  idempotency_key_reused: own(409, 'This Idempotency-Key was used with another request', 'never'),
  idempotency_in_progress: own(409, 'A request with this Idempotency-Key is in progress', 1_000),
  idempotency_answer_not_kept: own(
    409,
    'The call with this Idempotency-Key was made, but its answer is not kept',
    'never',
  ),
  // The message must be the same for another tenant's response and a missing one (P8).
  previous_response_not_found: own(400, 'The previous response was not found.'),
  response_not_found: { status: 404, words: 'The response was not found' },
  kept_unavailable: {
    status: 503,
    words:
      'The earlier response or the file that this request refers to is at an account that is not available at the moment; nothing was started. Try again, or send the content in the request itself',
    retry: 5_000,
  },
  price_not_configured: own(503, 'The model has no price', 'never'),
  insufficient_balance: own(402, 'The balance does not cover this request'),
  budget_reached: own(402, 'A budget does not cover this request'),
  rate_limited: own(429, 'Too many requests', 1_000),
}

/** Describes a code in words; undefined for a code that no failure has. */
export function wordsOfCode(code: string): string | undefined {
  const rows: Readonly<Record<string, FailureRow>> = failureTable
  return Object.hasOwn(failureTable, code) ? rows[code]?.words : undefined
}
