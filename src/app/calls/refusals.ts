import { DomainError } from '../../kernel/errors.ts'
import { unreachable } from '../../kernel/assert.ts'
import type { ProviderError } from '../ports.ts'

/** What upstream calls a response it is to continue and does not have. */
const PREVIOUS_NOT_FOUND = 'previous_response_not_found'

/** The one refusal of a response that upstream, or its tenant, does not have (P8). */
export function previousNotFound(details: { readonly callId?: string }): DomainError {
  return new DomainError(PREVIOUS_NOT_FOUND, 'The previous response was not found.', {
    ...details,
    param: 'previous_response_id',
  })
}

/** From a provider's failure to what the surfaces know (`types.ts`). */
export function refusalOf(error: ProviderError, callId: string): DomainError {
  if (error.kind === 'invalid' && error.code === PREVIOUS_NOT_FOUND)
    return previousNotFound({ callId })
  const details = {
    callId,
    kind: error.kind,
    acceptance: error.acceptance,
    status: error.status,
    upstreamCode: error.code,
    upstreamType: error.type,
    param: error.param,
    retryAfterMs: error.retryAfterMs,
  }
  switch (error.kind) {
    case 'invalid':
    case 'account':
      return new DomainError('call_refused', error.message, details)
    case 'rate_limited':
      return new DomainError('rate_limited', error.message, details)
    case 'unavailable':
      return new DomainError('upstream_unavailable', error.message, details)
    case 'timeout':
      return new DomainError('upstream_timeout', error.message, details)
    case 'malformed':
      return new DomainError('upstream_malformed', error.message, details)
    default:
      return unreachable(error.kind)
  }
}
