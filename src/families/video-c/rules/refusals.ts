import { DomainError } from '../../../kernel/errors.ts'
import type { RequestErrorCode } from '../../../domain/families/checks/fields.ts'

/** Refusals that say what is wrong in this family's own word; one without is a field that is invalid. */

type Reason = 'FieldInvalid' | 'FieldLacking' | 'FieldUnwanted' | 'FieldItemCountOutOfRange'

/** @throws RequestError always */
export function refuseField(
  param: string,
  message: string,
  code: RequestErrorCode = 'invalid_request',
  reason: Reason = 'FieldInvalid',
): never {
  throw new DomainError(code, message, { param, reason })
}

/** @throws RequestError always */
export function lacking(param: string): never {
  return refuseField(param, `\`${param}\` is required`, 'invalid_request', 'FieldLacking')
}
