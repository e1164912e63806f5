import { RequestError } from '../../api/kit/request-error.ts'
import type { Principal } from '../../app/access/principal.ts'
import { seesOperations } from '../session/reading-as.ts'

/** The readers of operations. */

/** @throws RequestError for a session of any other token */
export function requireOperatorOf(token: Principal): void {
  if (seesOperations(token)) return
  const message = 'Operations are shown only to sessions of an admin token of all tenants'
  throw new RequestError('wrong_token_kind', message)
}
