import { accountEnvelope, accountFailures } from '../kit/routes/account-surface.ts'
import type { Envelope } from '../kit/envelope.ts'
import type { FailureCode } from '../kit/failures/failure-table.ts'
import { tokenFailures, managementFailures } from '../kit/failures/route-failures.ts'
import { createFailureReader } from '../kit/failures/surface-failures.ts'

const readFailure = createFailureReader({ ...accountFailures, ...managementFailures })

/** The error shape of these routes. */
export const userEnvelope: Envelope = accountEnvelope(readFailure)

/** The failures of a query of a balance. */
export const balanceFailures: readonly FailureCode[] = [
  ...tokenFailures,
  'log_unavailable',
  'read_model_behind',
]
