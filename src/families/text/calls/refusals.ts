import { DomainError } from '../../../kernel/errors.ts'
import type { ProviderError } from '../../../app/ports.ts'
import { refusalOf } from '../../../app/refusals.ts'

/** What upstream calls a response it is to continue and does not have. */
const PREVIOUS_NOT_FOUND = 'previous_response_not_found'
/** What it says of an item, not always with a code; it names the item by its own id. */
const ITEM_NOT_FOUND = /^Item with id '.*' not found/

/** The one refusal of a response, or of an item of one, that upstream or its tenant lacks (P8). */
export function previousNotFound(details: {
  readonly callId?: string
  readonly param: string
}): DomainError {
  return new DomainError(PREVIOUS_NOT_FOUND, 'The previous response was not found.', details)
}

/** A provider's failure as callers of text are told of it. */
export function textRefusal(error: ProviderError, callId: string): DomainError {
  if (error.kind === 'invalid' && error.code === PREVIOUS_NOT_FOUND)
    return previousNotFound({ callId, param: 'previous_response_id' })
  if (error.kind === 'invalid' && ITEM_NOT_FOUND.test(error.message))
    return previousNotFound({ callId, param: 'input' })
  return refusalOf(error, callId)
}
