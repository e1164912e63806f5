import type { FastifyReply } from 'fastify'
import { type CsvRow, csvStream } from '../kit/csv.ts'

/** Sends pages of rows after a header line, as a file with this name. */
export function sendCsv(
  reply: FastifyReply,
  name: string,
  header: readonly string[],
  pages: AsyncIterable<readonly CsvRow[]>,
): FastifyReply {
  return reply
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .type('text/csv; charset=utf-8; header=present')
    .send(csvStream(header, pages))
}

/** Rows that are all there. */
export async function* onePage(rows: readonly CsvRow[]): AsyncGenerator<readonly CsvRow[]> {
  yield await Promise.resolve(rows)
}
