import { DomainError } from '../../kernel/errors.ts'

/** An error whose caller learns which call it is of. */
export function withCallId({ code, message, details }: DomainError, callId: string): DomainError {
  return new DomainError(code, message, { ...details, callId })
}
