import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'

/**
 * Opens many streams and reads them all to their ends; prints as JSON how long frames took from the
 * upstream's write to our read, in microseconds.
 */
export interface StreamOrder {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly streams: number
  /** Streams begin evenly over this time: together they would all send at the same moments. */
  readonly rampMs: number
}

export interface StreamResult {
  readonly micros: readonly number[]
  /** Streams that ended with `[DONE]`. */
  readonly whole: number
  /** Why others did not, with counts. */
  readonly faults: Readonly<Record<string, number>>
}

const order = JSON.parse(readFileSync(0, 'utf8')) as StreamOrder
const url = new URL(order.url)
const pool = new Pool(url.origin, {
  connections: order.streams,
  pipelining: 1,
  headersTimeout: 120_000,
  bodyTimeout: 120_000,
})
const micros: number[] = []
const faults: Record<string, number> = {}
let whole = 0
const STAMP = /"content":"t(\d+) "/g
/** No frame is longer; what is left of the last piece is kept up to this. */
const MAX_LEFT = 1_024

async function readOne(): Promise<void> {
  const answer = await pool.request({
    method: 'POST',
    path: url.pathname,
    headers: order.headers,
    body: order.body,
  })
  if (answer.statusCode !== 200) {
    const text = await answer.body.text()
    throw new Error(`${answer.statusCode} ${text.slice(0, 100)}`)
  }
  let left = ''
  for await (const piece of answer.body) {
    const nowMicros = Number(process.hrtime.bigint() / 1000n)
    const text = left + (piece as Buffer).toString('latin1')
    let taken = 0
    for (const stamp of text.matchAll(STAMP)) {
      micros.push(nowMicros - Number(stamp[1]))
      taken = stamp.index + stamp[0].length
    }
    left = text.slice(Math.max(taken, text.length - MAX_LEFT))
  }
  if (!left.includes('data: [DONE]')) throw new Error('ended without [DONE]')
  whole += 1
}

await Promise.all(
  Array.from({ length: order.streams }, async (_, index) => {
    await sleep((index * order.rampMs) / order.streams)
    await readOne().catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error)
      faults[reason] = (faults[reason] ?? 0) + 1
    })
  }),
)
await pool.close()
const result: StreamResult = { micros, whole, faults }
process.stdout.write(JSON.stringify(result))
