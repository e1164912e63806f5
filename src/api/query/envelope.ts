import { accountEnvelope, accountFailures } from '../kit/routes/account-surface.ts'
import type { Envelope } from '../kit/envelope.ts'
import type { FailureCode } from '../kit/failures/failure-table.ts'
import { tokenFailures } from '../kit/failures/route-failures.ts'
import { createFailureReader, type SurfaceFailures } from '../kit/failures/surface-failures.ts'

/** The names of failures on this surface, and their differences from the table. */
const readFailure = createFailureReader({
  ...accountFailures,
  scope_denied: 'scope_denied',
  task_not_found: 'task_not_found',
  receipt_not_found: 'receipt_not_found',
  life_not_found: 'life_not_found',
  period_not_found: { code: 'period_not_found', param: 'month' },
  period_not_next: { code: 'period_not_next', param: 'month' },
  tenant_not_found: 'tenant_not_found',
  line_not_found: { code: 'line_not_found', param: 'line_id' },
  line_open: { code: 'line_open', param: 'line_id' },
  asset_not_found: 'asset_not_found',
  invalid_cursor: 'invalid_request',
  query_too_long: 'query_too_long',
  overloaded: 'service_unavailable',
  storage_full: {
    code: 'service_unavailable',
    status: 503,
    words:
      'The disk has no room for this file at the moment: format=csv and format=ndjson need none',
  },
} satisfies SurfaceFailures)

/** The failures of a list or summary, and of a task's history. */
export const listFailures: readonly FailureCode[] = [
  ...tokenFailures,
  'role_denied',
  'invalid_cursor',
  'scope_denied',
  'read_model_behind',
  'query_too_long',
]
/** The failures of files that are made before they are sent. */
export const lineFailures: readonly FailureCode[] = [
  ...listFailures,
  'log_unavailable',
  'period_not_found',
  'overloaded',
  'storage_full',
]
export const searchFailures: readonly FailureCode[] = [
  ...listFailures.filter((code) => code !== 'invalid_cursor'),
  'log_unavailable',
]
const unconfirmed: readonly FailureCode[] = [
  ...tokenFailures,
  'role_denied',
  'query_too_long',
  'log_unavailable',
  'read_model_behind',
]
export const historyFailures: readonly FailureCode[] = [...unconfirmed, 'task_not_found']
export const receiptFailures: readonly FailureCode[] = [...unconfirmed, 'receipt_not_found']
export const lifeFailures: readonly FailureCode[] = [...unconfirmed, 'life_not_found']
/** The failures of a statement, of another file of one month, and of the proof of one line. */
export const periodFailures: readonly FailureCode[] = [
  ...unconfirmed,
  'scope_denied',
  'tenant_not_found',
  'period_not_found',
  'period_not_next',
]
export const statementFailures: readonly FailureCode[] = [...periodFailures, 'overloaded']
export const proofFailures: readonly FailureCode[] = [
  ...unconfirmed,
  'scope_denied',
  'line_not_found',
  'line_open',
]
export const assetHistoryFailures: readonly FailureCode[] = [...unconfirmed, 'asset_not_found']

/** The error shape of these routes. */
export const queryEnvelope: Envelope = accountEnvelope(readFailure)
