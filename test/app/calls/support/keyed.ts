import type { CallClaim } from '../../../../src/app/calls/claims/types.ts'
import type { CallInput } from '../../../../src/app/calls/family.ts'

/** What the API hands over of a request with this `Idempotency-Key`. */
export function keyedBy(
  key: string,
  taken: (claim: CallClaim) => void = () => undefined,
  bodyHash = 'one body',
): Pick<CallInput, 'keyed'> {
  return { keyed: { key, path: '/v1/chat/completions', bodyHash, taken } }
}
