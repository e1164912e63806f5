/**
 * Every code of a broken rule, by subject. A surface that answers callers maps codes to statuses;
 * nothing here knows one.
 */
export const domainCodes = [
  // Faults of the request.
  'invalid_request',
  'invalid_duration',
  'invalid_cursor',
  'unknown_model',
  'model_not_allowed',
  'scope_denied',
  'task_not_found',
  'task_running',
  'task_ended',
  'result_not_available',
  'task_state_conflict',
  'idempotency_key_reused',
  'idempotency_in_progress',
  'idempotency_answer_not_kept',
  'previous_response_not_found',
  'response_not_found',
  'kept_unavailable',
  // Images.
  'n_not_supported',
  'unsupported_image_input',
  'image_too_large',
  'content_policy_violation',
  'suspected_black_image',
  'no_image_generated',
  'image_url_not_available',
  'image_not_kept',
  'file_not_found',
  'storage_not_configured',
  'storage_unavailable',
  'object_too_large',
  'storage_full',
  'upload_quota_reached',
  'invalid_image_url',
  // Speech.
  'voice_not_found',
  'voice_exists',
  // Assets.
  'asset_not_found',
  'asset_group_not_found',
  'asset_not_active',
  'asset_region_mismatch',
  'asset_action_not_enabled',
  'verification_not_found',
  'channel_not_available',
  // Money and capacity.
  'price_not_configured',
  'insufficient_balance',
  'rate_limited',
  'overloaded',
  // Upstream.
  'no_channel',
  'call_refused',
  'submission_refused',
  'submission_uncertain',
  'upstream_unavailable',
  'upstream_overloaded',
  'upstream_timeout',
  'upstream_malformed',
  'call_cut_off',
  // The event log only.
  'log_unavailable',
  'log_access_denied',
  'log_outcome_unknown',
  'wrong_expected_revision',
  'append_too_large',
  'event_invalid',
  // The database and its read models.
  'database_unavailable',
  'read_model_behind',
  // Administration.
  'tenant_exists',
  'tenant_not_found',
  'user_exists',
  'too_many_users',
  'user_not_found',
  'status_refused',
  'tenant_busy',
  // The life of a tenant and of its users.
  'tenant_suspended',
  'tenant_closed',
  'user_suspended',
  'amount_invalid',
  'adjustment_source_invalid',
  'adjustment_out_of_bounds',
  'adjustment_id_taken',
  'line_not_found',
  'receipt_not_found',
  'life_not_found',
  'note_exists',
  'too_many_notes',
  'poll_refused',
  'give_up_refused',
  'posting_id_taken',
  'limit_id_taken',
  'posting_outcome_unknown',
  'proposal_not_found',
  'proposal_ended',
  'proposal_expired',
  'proposal_outdated',
  'proposal_own',
  'proposal_not_independent',
  'token_exists',
  'token_not_found',
  'token_disabled',
  'token_limits_invalid',
  'token_models_invalid',
  'token_addresses_invalid',
  'token_bound_reached',
  'token_scope_invalid',
  'token_expiry_invalid',
  'token_secret_reused',
  // Details name the setting.
  'setting_invalid',
  'setting_changed',
  'budget_reached',
  // Statements.
  'period_not_found',
  'period_blocked',
  'period_not_next',
  'period_not_over',
  'period_position',
  'period_sum',
  'period_not_last',
  'void_not_proposed',
  'line_open',
  'price_book_invalid',
  'price_books_changed',
  'price_book_version_taken',
  'price_book_replaced',
  'price_book_not_found',
  'confirmation_required',
  'audit_state_foreign',
] as const

export type DomainCode = (typeof domainCodes)[number]

/** A broken rule with a literal `code` and typed `details`; it never knows an HTTP status. */
export class DomainError<
  Code extends DomainCode = DomainCode,
  Details extends Readonly<Record<string, unknown>> = Readonly<Record<string, unknown>>,
> extends Error {
  override readonly name = 'DomainError'
  readonly code: Code
  readonly details: Details

  constructor(code: Code, message: string, details: Details) {
    super(message)
    this.code = code
    this.details = details
  }
}

/** Whether a value is a domain error, optionally with this code. */
export function isDomainError<Code extends DomainCode>(
  value: unknown,
  code?: Code,
): value is DomainError<Code> {
  return value instanceof DomainError && (code === undefined || value.code === code)
}

/**
 * The fields of a log line about a failure. A domain error is a known outcome: its code and words say
 * all, and a stack would make it look like a defect.
 */
export function failureFields(error: unknown): object {
  if (!isDomainError(error)) return { err: error }
  const { code, message, details, cause } = error
  const because = cause instanceof Error ? cause.message : undefined
  return { code, why: message, reason: details['reason'], because }
}
