import { isPositiveInt64 } from '../../../kernel/int64.ts'

/** An id of this wire, an integer of 64 bits: a number as long as a double holds it, or digits. */
export function idOf(value: unknown): string | undefined {
  const digits = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  return typeof digits === 'string' && isPositiveInt64(digits) ? digits : undefined
}
