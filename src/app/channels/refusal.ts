import { unreachable } from '../../kernel/assert.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { ProviderError } from '../ports/provider.ts'

/** Converts a provider's failure to a domain error; `callId` is set for a call. */
export function refusalOf(error: ProviderError, callId?: string): DomainError {
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
      // Only the stop of this process ends a call's request before its time.
      if (error.endedByGateway && callId !== undefined)
        return new DomainError('call_cut_off', 'the gateway stopped', details)
      return new DomainError('upstream_timeout', error.message, details)
    case 'malformed':
      return new DomainError('upstream_malformed', error.message, details)
    default:
      return unreachable(error.kind)
  }
}
