import type { FastifyRequest, FastifySchema } from 'fastify'
import { type AdminScope, scopeOfAdminToken } from '../../app/accounts/admin-scope.ts'
import {
  accountEnvelope,
  accountFailures,
  type AccountRoute,
  describeAccount,
} from '../kit/routes/account-surface.ts'
import { principalOf } from '../kit/tokens/authenticate.ts'
import type { Envelope } from '../kit/envelope.ts'
import { forSettings } from '../kit/failures/failure-table.ts'
import { createFailureReader } from '../kit/failures/surface-failures.ts'
import { managementFailures } from '../kit/failures/route-failures.ts'

const readFailure = createFailureReader({
  ...accountFailures,
  ...managementFailures,
  tenant_exists: { code: 'tenant_exists', param: 'tenant_id' },
  too_many_users: 'too_many_users',
  user_exists: { code: 'user_exists', param: 'user_id' },
  status_refused: 'status_refused',
  tenant_busy: 'tenant_busy',
  posting_id_taken: { code: 'grant_exists', param: 'grant_id' },
  adjustment_id_taken: { code: 'adjustment_exists', param: 'adjustment_id' },
  adjustment_out_of_bounds: { code: 'adjustment_out_of_bounds', param: 'amount' },
  line_not_found: { code: 'line_not_found', param: 'line_id' },
  limit_id_taken: { code: 'limit_exists', param: 'limit_id' },
  idempotency_key_reused: { code: 'idempotency_key_reused', param: 'Idempotency-Key' },
  posting_outcome_unknown: 'outcome_unknown',
  life_not_found: 'life_not_found',
  invalid_request: 'invalid_request',
  note_exists: { code: 'note_exists', param: 'note_id' },
  too_many_notes: 'too_many_notes',
  poll_refused: 'poll_refused',
  give_up_refused: 'give_up_refused',
  task_ended: 'task_ended',
  proposal_not_found: 'proposal_not_found',
  proposal_ended: 'proposal_ended',
  proposal_expired: 'proposal_expired',
  proposal_outdated: 'proposal_outdated',
  proposal_own: 'proposal_own',
  proposal_not_independent: 'proposal_not_independent',
  period_not_found: { code: 'period_not_found', param: 'month' },
  period_not_last: { code: 'period_not_last', param: 'month' },
  void_not_proposed: { code: 'void_not_proposed', param: 'month' },
  price_book_invalid: 'invalid_request',
  price_book_not_found: { code: 'price_book_not_found', param: 'version' },
  price_book_version_taken: { code: 'price_book_version_taken', param: 'version' },
  price_book_replaced: { code: 'price_book_replaced', param: 'version' },
  price_books_changed: 'price_books_changed',
  confirmation_required: { code: 'confirmation_required', param: 'confirm' },
  ...forSettings((code, fault) =>
    fault === 'invalid'
      ? 'invalid_request'
      : { code: `${code}_changed`, param: 'expected_revision' },
  ),
  period_blocked: { code: 'period_blocked', param: 'month' },
  period_not_next: { code: 'period_not_next', param: 'month' },
  period_not_over: { code: 'period_not_over', param: 'month' },
  period_position: { code: 'period_position', param: 'month' },
  period_sum: { code: 'period_sum', param: 'month' },
  overloaded: 'service_unavailable',
  query_too_long: 'query_too_long',
  append_too_large: 'invalid_request',
  amount_invalid: { code: 'invalid_request', param: 'amount' },
})

/** The error shape of these routes. */
export const adminEnvelope: Envelope = accountEnvelope(readFailure)

/** The OpenAPI description of such a route, including its failures: it may be closed to the role of a token. */
export function describeAdmin({ failures, ...route }: AccountRoute): FastifySchema {
  return describeAccount(adminEnvelope, 'adminToken', {
    ...route,
    failures: [...failures, 'role_denied'],
  })
}

/** The accounts and tokens that the admin token of a request manages. */
export function adminScopeOf(request: FastifyRequest): AdminScope {
  return scopeOfAdminToken(principalOf(request))
}
