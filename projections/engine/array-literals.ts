/**
 * Columns of a bulk statement as Postgres array literals for `unnest`. Built by hand because the
 * driver's own array encoding is several times slower, and because text and JSON in events may hold
 * what Postgres cannot store: NUL and lone surrogates become U+FFFD.
 */

const REPLACEMENT = '\ufffd'
/** NUL, or half of a pair: only then is a closer look needed. */
// oxlint-disable-next-line no-control-regex -- it is what is looked for
const SUSPECT = /[\u0000\ud800-\udfff]/
/** With the `u` flag only lone surrogates match. */
// oxlint-disable-next-line no-control-regex -- it is what is looked for
const UNSTORABLE = /[\u0000\p{Surrogate}]/gu

function quote(text: string): string {
  return `"${/["\\]/.test(text) ? text.replaceAll(/["\\]/g, String.raw`\$&`) : text}"`
}

/** The text as Postgres can store it, and will give it back. */
export function storable(text: string): string {
  return SUSPECT.test(text) ? text.replaceAll(UNSTORABLE, REPLACEMENT) : text
}

/** Characters that an array literal has to quote, or that Postgres cannot hold. */
// oxlint-disable-next-line no-control-regex -- it is what is looked for
const UNCLEAN = /["\\\u0000\ud800-\udfff]/

/** `text[]` (also for `numeric[]`, `timestamptz[]` and the like by a cast). */
export function textColumn(values: readonly (string | null | undefined)[]): string {
  // Nearly every column is clean: joining it in one step makes no garbage per value.
  if (!values.includes(null) && !values.includes(undefined) && !UNCLEAN.test(values.join('')))
    return values.length === 0 ? '{}' : `{"${values.join('","')}"}`
  const literals = values.map((value) =>
    value === null || value === undefined ? 'NULL' : quote(storable(value)),
  )
  return `{${literals.join(',')}}`
}

/** `int[]`, `bigint[]`, `numeric[]`, `boolean[]`: values that need no quoting. */
export function plainColumn(
  values: readonly (number | bigint | boolean | null | undefined)[],
): string {
  if (!values.includes(null) && !values.includes(undefined)) return `{${values.join(',')}}`
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`
}

function storableValue(value: unknown): unknown {
  if (typeof value === 'string') return storable(value)
  if (Array.isArray(value)) return value.map(storableValue)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [storable(key), storableValue(item)]),
  )
}

/** JSON text that `jsonb` accepts. */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value)
  // JSON text can hold NUL or a lone surrogate only as an escape.
  return text.includes(String.raw`\u`) ? JSON.stringify(storableValue(value)) : text
}

/** `text[]` of JSON texts, to be cast to `jsonb[]`; undefined is SQL null. */
export function jsonColumn(values: readonly unknown[]): string {
  return textColumn(
    values.map((value) => (value === undefined || value === null ? null : storableJson(value))),
  )
}
