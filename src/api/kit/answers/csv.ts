/** A row of a table; null is an empty cell. */
export type CsvRow = readonly (string | number | null)[]

/** A spreadsheet takes it at the beginning of a file for the sign that the file is UTF-8. */
export const BYTE_ORDER_MARK = '\uFEFF'

/** A spreadsheet runs a cell that begins with one of these, some also full-width or after spaces, as a formula. */
const FORMULA = /^\s*[=+\-@|%＝＋－＠]|^[\t\r\n]/
/** A spreadsheet that separates cells by semicolons or tabs splits a cell there, and at line breaks, even inside quotes. */
const INNER_FORMULA = /[;\t\r\n][^\S\t\r\n]*(?=[=+\-@|%＝＋－＠])/g
const PLAIN_NUMBER = /^-?\d+(?:\.\d+)?$/
/** A reader takes the first for marks of the file, and may skip spaces at either end of a cell. */
const QUOTED = /[",\r\n]|^\s|\s$/

/** A cell: a quote before what would be a formula makes it text, and numbers keep their sign. */
function cellOf(value: CsvRow[number]): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const whole = FORMULA.test(value) && !PLAIN_NUMBER.test(value) ? `'${value}` : value
  const text = whole.replaceAll(INNER_FORMULA, "$&'")
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Rows as RFC 4180 text: CRLF after each, quoted where needed, formulas made text. */
export function toCsv(rows: readonly CsvRow[]): string {
  let text = ''
  for (const row of rows) {
    let separator = ''
    for (const value of row) {
      text += separator + cellOf(value)
      separator = ','
    }
    text += '\r\n'
  }
  return text
}

/**
 * A header and pages of rows as pieces of text; the first has the header, also where there are no rows. A byte order
 * mark stands before it on request.
 */
export async function* csvPages(
  header: readonly string[],
  pages: AsyncIterable<readonly CsvRow[]>,
  hasByteOrderMark = false,
): AsyncGenerator<string> {
  let before = (hasByteOrderMark ? BYTE_ORDER_MARK : '') + toCsv([header])
  for await (const rows of pages) {
    if (before === '' && rows.length === 0) continue
    yield before + toCsv(rows)
    before = ''
  }
  if (before !== '') yield before
}
