import { Readable } from 'node:stream'
import { stringify } from 'csv-stringify/sync'
import { owned } from '../../kernel/owned.ts'

export type CsvRow = readonly (string | number | null)[]

const plainNumber = /^-?\d+(?:\.\d+)?$/

/**
 * A spreadsheet runs a cell that begins with one of these, some also full-width, as a formula; a quote before it makes it
 * text. Numbers keep their sign.
 */
function disarm(cell: string | number | null): string {
  const text = cell === null ? '' : String(cell)
  return /^[=+\-@\t\r\n|%＝＋－＠]/.test(text) && !plainNumber.test(text) ? `'${text}` : text
}

/** Rows as RFC 4180 text: CRLF after each, quoted where needed, formulas disarmed. */
export function toCsv(rows: readonly CsvRow[]): string {
  return stringify(
    rows.map((row) => row.map(disarm)),
    { record_delimiter: 'windows' },
  )
}

/**
 * A header and pages of rows as a stream that reads the next page only after the last one was sent.
 * A failure destroys the stream, so that a partial file never looks complete.
 */
export function csvStream(
  header: readonly string[],
  pages: AsyncIterable<readonly CsvRow[]>,
): Readable {
  async function* chunks(): AsyncGenerator<string> {
    let first = true
    for await (const rows of pages) {
      const text = toCsv(first ? [header, ...rows] : rows)
      first = false
      if (text !== '') yield text
    }
    if (first) yield toCsv([header])
  }
  return owned(Readable.from(chunks(), { objectMode: true, highWaterMark: 1 }))
}
