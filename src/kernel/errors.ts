/**
 * A broken rule with a literal `code` and typed `details`; it never knows an HTTP status. Each API
 * surface maps codes to its own envelope.
 */
export class DomainError<
  Code extends string = string,
  Details extends Readonly<Record<string, unknown>> = Readonly<Record<string, unknown>>,
> extends Error {
  override readonly name = 'DomainError'
  readonly code: Code
  readonly details: Details

  constructor(code: Code, message: string, details: Details) {
    super(message)
    this.code = code
    this.details = details
  }
}

/** Whether a value is a domain error, optionally with this code. */
export function isDomainError<Code extends string>(
  value: unknown,
  code?: Code,
): value is DomainError<Code> {
  return value instanceof DomainError && (code === undefined || value.code === code)
}
