import { unreachable } from '../../kernel/assert.ts'
import { DomainError } from '../../kernel/errors.ts'
import { OVERLOADED_STATUS, type ProviderError } from '../ports/provider.ts'

/**
 * Converts a provider's failure to a domain error; `callId` is set for a call, of which only the stop
 * of this process ends a request before its time.
 */
export function refusalOf(
  error: ProviderError,
  callId?: string,
  isCutOff = callId !== undefined && error.endedByGateway,
): DomainError {
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
    case 'unavailable': {
      const isOverloaded = callId !== undefined && error.status === OVERLOADED_STATUS
      const code = isOverloaded ? 'upstream_overloaded' : 'upstream_unavailable'
      return new DomainError(code, error.message, details)
    }
    case 'timeout':
      if (isCutOff) return new DomainError('call_cut_off', 'the gateway stopped', details)
      return new DomainError('upstream_timeout', error.message, details)
    case 'malformed':
      return new DomainError('upstream_malformed', error.message, details)
    default:
      return unreachable(error.kind)
  }
}
