import { readFileSync } from 'node:fs'
import { Pool } from 'undici'

/**
 * Sends requests at a fixed rate, whether or not earlier ones were answered, and prints the times of
 * the answers as JSON, in microseconds, each from the moment its request was due. A timer that comes late
 * sends what it owes at once.
 */
export interface PacedOrder {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly perSecond: number
  readonly seconds: number
  /** The beginning that is not counted. */
  readonly warmUpSeconds: number
  readonly connections: number
}

export interface PacedResult {
  readonly micros: readonly number[]
  /** Answers by status; `none` for those that failed. */
  readonly statuses: Readonly<Record<string, number>>
}

const TICK_MS = 1
const order = JSON.parse(readFileSync(0, 'utf8')) as PacedOrder
const url = new URL(order.url)
const pool = new Pool(url.origin, { connections: order.connections, pipelining: 1 })
const micros: number[] = []
const statuses: Record<string, number> = {}

async function send(dueMs: number, isCounted: boolean): Promise<void> {
  let status = 'none'
  try {
    const answer = await pool.request({
      method: 'POST',
      path: url.pathname,
      headers: order.headers,
      body: order.body,
    })
    await answer.body.dump({ limit: 1 << 30 })
    status = String(answer.statusCode)
  } catch {
    // Counted as none.
  }
  if (!isCounted) return
  statuses[status] = (statuses[status] ?? 0) + 1
  if (status === '200') micros.push(Math.round((performance.now() - dueMs) * 1_000))
}

const startedMs = performance.now()
const total = order.perSecond * (order.warmUpSeconds + order.seconds)
const uncounted = order.perSecond * order.warmUpSeconds
const pending: Promise<void>[] = []
await new Promise<void>((resolve) => {
  const timer = setInterval(() => {
    const owed = Math.min(total, ((performance.now() - startedMs) / 1_000) * order.perSecond)
    while (pending.length < owed) {
      const dueMs = startedMs + (pending.length / order.perSecond) * 1_000
      pending.push(send(dueMs, pending.length >= uncounted))
    }
    if (pending.length < total) return
    clearInterval(timer)
    resolve()
  }, TICK_MS)
})
await Promise.all(pending)
await pool.close()
const result: PacedResult = { micros, statuses }
process.stdout.write(JSON.stringify(result))
