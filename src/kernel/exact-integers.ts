/**
 * Integers beyond 2^53 that the gateway passes on with the digits they were written with. Only Node 22
 * and newer can write them (`JSON.rawJSON`); `JSON.stringify` does it by itself.
 */

/** Newer engines have further members of `JSON` than ES2023. */
interface NewerJson extends JSON {
  readonly rawJSON?: (digits: string) => object
  readonly isRawJSON?: (value: object) => boolean
}

const { rawJSON, isRawJSON }: NewerJson = JSON

/** Makes an integer of digits that are JSON; undefined where the engine cannot write it. */
export const exactInteger: ((digits: string) => object) | undefined = rawJSON

/** Whether an object stands for an integer and has no members of a caller. */
export function isExactInteger(value: object): boolean {
  // The engine's own test is slow, and few objects have no prototype.
  return Object.getPrototypeOf(value) === null && isRawJSON?.(value) === true
}

const MANY_DIGITS = /\d{16}/
const FRACTION_OR_EXPONENT = /[.eE]/

/** Engines that can write such integers give the text of each value too. */
function keepDigits(
  _name: string,
  value: unknown,
  written?: { readonly source?: string },
): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const digits = written?.source
  return digits !== undefined && !FRACTION_OR_EXPONENT.test(digits) ? exactInteger?.(digits) : value
}

/** As `JSON.parse`, with integers beyond 2^53 as they are written. @throws SyntaxError */
export function parseExactly(text: string): unknown {
  return exactInteger !== undefined && MANY_DIGITS.test(text)
    ? JSON.parse(text, keepDigits)
    : JSON.parse(text)
}

/**
 * The parsed value of a text, with integers beyond 2^53 as they are written; the plain value where
 * there are none.
 */
export function withExactIntegers<Value>(parsed: Value, text: string): Value {
  return exactInteger !== undefined && MANY_DIGITS.test(text)
    ? (JSON.parse(text, keepDigits) as Value)
    : parsed
}
