import { RequestError } from './request-error.ts'

/** Times of ours; beyond it databases and languages write years differently. */
const LATEST_MS = Date.parse('9999-12-01T00:00:00Z')

const rfc3339 =
  /^\d{4}-\d{2}-\d{2}(?:[Tt]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2}))?$/

/** Unix milliseconds of a time that was sent. @throws RequestError `parameter_invalid` */
export function timeOf(text: string | undefined, param: string): number | undefined {
  if (text === undefined) return undefined
  // In a query string a bare `+` of an offset arrives as a space.
  const repaired = text.replace(' ', '+')
  const unixMs = rfc3339.test(repaired) ? Date.parse(repaired) : Number.NaN
  if (Number.isNaN(unixMs) || unixMs < 0 || unixMs >= LATEST_MS)
    throw new RequestError(
      'parameter_invalid',
      `${param} must be a date or an RFC 3339 time such as 2026-01-02T03:04:05Z`,
      param,
    )
  return unixMs
}
