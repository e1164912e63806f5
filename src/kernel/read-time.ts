/**
 * Reads times that others wrote. Languages and databases guess differently what an impossible date,
 * a far year or a wide offset may mean: such a text is no time here.
 */

const DATE = String.raw`(?:19[7-9]\d|[2-9]\d{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`
const TIME = String.raw`(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?`
const OFFSET = String.raw`Z|[+-](?:(?:0\d|1[0-3]):[0-5]\d|14:00)`
const FORM = new RegExp(`^${DATE}(?:T${TIME}(?:${OFFSET}))?$`, 'i')
/** Every month has at least this many days. */
const SURE_DAYS = 28
const YEAR_10000_MS = Date.UTC(10_000, 0)

/** Describes a valid time, for messages. */
export const TIME_WORDS =
  'a date or an RFC 3339 time such as 2026-01-02T03:04:05Z, of a day that exists in the years 1970 to 9999, at most 14 hours from UTC'

/**
 * Unix milliseconds of an RFC 3339 time, or of the midnight in UTC with which a date begins;
 * undefined for anything else.
 */
export function readTime(text: string): number | undefined {
  if (!FORM.test(text)) return undefined
  const day = Number(text.slice(8, 10))
  if (day > SURE_DAYS && new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() !== day)
    return undefined
  const unixMs = Date.parse(text.toUpperCase())
  return unixMs >= 0 && unixMs < YEAR_10000_MS ? unixMs : undefined
}

/** Whether a time is only a date, `YYYY-MM-DD`. */
export function isDate(text: string): boolean {
  return text.length === 'YYYY-MM-DD'.length && readTime(text) !== undefined
}

/** Unix milliseconds of `20260102T030405Z`, as signatures write times; undefined for anything else. */
export function readCompactTime(text: string): number | undefined {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour, minute, second] = parts
  return readTime(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Unix milliseconds of a date as HTTP headers write it (RFC 9110 §5.6.7); undefined for anything else. */
export function readHttpDate(text: string): number | undefined {
  const unixMs = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN
  // A day that does not exist is written back as another one.
  return !Number.isNaN(unixMs) && new Date(unixMs).toUTCString() === text ? unixMs : undefined
}
