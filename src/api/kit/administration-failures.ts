import type { DomainCode } from '../../kernel/errors.ts'
import { type FailureRow, own } from './failure-row.ts'

/** Failures in administering tenants, credit, tokens and prices. */
export const ofAdministration = {
  tenant_exists: own(409, 'The tenant already exists', 'never'),
  // One constant text each: what a token may not see reads exactly like a missing thing (P8).
  tenant_not_found: own(404, 'The tenant does not exist'),
  too_many_users: own(409, 'The tenant has the maximum number of users', 'never'),
  user_exists: own(409, 'The tenant already has this user', 'never'),
  user_not_found: own(404, 'The tenant has no such user'),
  amount_invalid: own(400, 'The amount is not valid'),
  adjustment_source_invalid: own(400, 'The line or grant to adjust does not exist'),
  adjustment_out_of_bounds: own(409, 'The adjustment is beyond what can be given or taken back'),
  adjustment_id_taken: own(409, 'This id is already used by another posting', 'never'),
  line_not_found: own(404, 'The tenant has no such line'),
  posting_id_taken: own(409, 'This id is already used by another posting', 'never'),
  limit_id_taken: own(409, 'This id is already used by another credit limit', 'never'),
  note_exists: own(409, 'Another note has this id', 'never'),
  too_many_notes: own(409, 'The tenant has the maximum number of notes', 'never'),
  poll_refused: own(409, 'There is no provider to ask about it', 'never'),
  give_up_refused: own(409, 'The task is not given up', 'never'),
  // A retry under the same id moves no money twice.
  posting_outcome_unknown: own(
    503,
    'The change was not confirmed in time and may have been recorded; send it again with the same id',
    2_000,
  ),
  // One constant text as well: a proposal of another tenant reads like a missing one.
  proposal_not_found: { status: 404, words: 'The tenant has no such proposal' },
  proposal_ended: own(409, 'The proposal has ended', 'never'),
  proposal_expired: own(409, 'The proposal has lapsed', 'never'),
  proposal_own: own(403, 'Another user than its proposer approves a proposal'),
  token_exists: own(409, 'The token already exists', 'never'),
  token_not_found: { status: 404, words: 'The token does not exist' },
  token_disabled: own(409, 'The token is disabled', 'never'),
  token_limits_invalid: own(400, 'The limits are not valid'),
  token_models_invalid: own(400, 'The models are not valid'),
  token_addresses_invalid: own(400, 'The addresses are not valid'),
  token_bound_reached: own(409, 'The limit of tokens, or of changes of one, is reached', 'never'),
  token_scope_invalid: own(400, 'The scope is not valid'),
  token_expiry_invalid: own(400, 'The time is not valid'),
  token_secret_reused: own(409, 'The secret was used before', 'never'),
  setting_invalid: own(400, 'The setting is not valid'),
  setting_changed: own(409, 'The setting was changed in the meantime', 'never'),
  price_book_invalid: own(400, 'The price book is not valid'),
  price_books_changed: own(409, 'Another price book was published in the meantime', 'never'),
  price_book_version_taken: own(409, 'The version is already used by another price book', 'never'),
  price_book_replaced: own(409, 'Another price book has replaced this one', 'never'),
  price_book_not_found: own(404, 'No price book has this version'),
  confirmation_required: own(409, 'Nothing was changed: this needs `"confirm": true`', 'never'),
  audit_state_foreign: own(409, 'The earlier audit read another log', 'never'),
} as const satisfies Partial<Record<DomainCode, FailureRow>>
