import { DomainError } from '../../../kernel/errors.ts'
import type { ProviderError } from '../../ports.ts'
import { refusalOf } from '../refusals.ts'

/** What upstream calls a response it is to continue and does not have. */
const PREVIOUS_NOT_FOUND = 'previous_response_not_found'

/** The one refusal of a response that upstream, or its tenant, does not have (P8). */
export function previousNotFound(details: { readonly callId?: string }): DomainError {
  return new DomainError(PREVIOUS_NOT_FOUND, 'The previous response was not found.', {
    ...details,
    param: 'previous_response_id',
  })
}

/** A provider's failure as callers of text are told of it. */
export function textRefusal(error: ProviderError, callId: string): DomainError {
  return error.kind === 'invalid' && error.code === PREVIOUS_NOT_FOUND
    ? previousNotFound({ callId })
    : refusalOf(error, callId)
}
