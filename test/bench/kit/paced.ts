import type { PacedOrder, PacedResult } from '../peers/paced-client.ts'
import { compiled } from './build.ts'
import { runForJson } from './process.ts'
import { chatBody, type Row } from './text-rows.ts'

/** Times of a row's answers at so many requests a second. */
export async function paced(
  row: Row,
  pace: Omit<PacedOrder, 'url' | 'headers' | 'body' | 'tokens'>,
): Promise<PacedResult> {
  const order: PacedOrder = {
    url: row.url,
    headers: row.headers,
    body: row.body ?? chatBody(false),
    ...(row.tokens === undefined ? {} : { tokens: row.tokens }),
    ...pace,
  }
  const asked = JSON.stringify(order)
  return (await runForJson([compiled('test/bench/peers/paced-client')], asked)) as PacedResult
}
