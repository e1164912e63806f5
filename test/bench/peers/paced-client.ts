import { readFileSync } from 'node:fs'
import { Pool } from 'undici'
import { NUMBER_HEADER } from './number-header.ts'

/**
 * Sends requests at a rate, whether or not earlier ones were answered, and prints the times of
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
  /** Requests come by chance (Poisson), the same for one seed; without it they are spaced evenly. */
  readonly seed?: number
  /** Each request is of one of these, in turn. */
  readonly tokens?: readonly string[]
  /** Each request says its number, and its moments are printed. */
  readonly isNumbered?: boolean
}

/** Moments of a call, in microseconds of the machine's monotonic clock. */
export interface PacedCall {
  readonly number: number
  readonly dueUs: number
  readonly sentUs: number
  readonly answeredUs: number
}

export interface PacedResult {
  readonly micros: readonly number[]
  /** Answers by status; `none` for those that failed. */
  readonly statuses: Readonly<Record<string, number>>
  /** Answered calls, where they have numbers. */
  readonly calls: readonly PacedCall[]
}

const TICK_MS = 1
const nowUs = (): number => Number(process.hrtime.bigint()) / 1_000

/** Numbers from 0 to 1 by chance, the same for one seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** When each request is due, in microseconds from the first. */
function schedule({ perSecond, seconds, warmUpSeconds, seed }: PacedOrder): readonly number[] {
  const chance = seed === undefined ? undefined : seeded(seed)
  const due: number[] = []
  const gapUs = 1_000_000 / perSecond
  const endUs = (warmUpSeconds + seconds) * 1_000_000
  for (let atUs = 0; atUs < endUs;) {
    due.push(atUs)
    atUs += chance === undefined ? gapUs : -Math.log(1 - chance()) * gapUs
  }
  return due
}

async function run(order: PacedOrder): Promise<PacedResult> {
  const url = new URL(order.url)
  const { body, connections, tokens, isNumbered } = order
  const pool = new Pool(url.origin, { connections, pipelining: 1 })
  const micros: number[] = []
  const statuses: Record<string, number> = {}
  const calls: PacedCall[] = []
  const send = async (number: number, dueUs: number, isCounted: boolean): Promise<void> => {
    const token = tokens?.[number % tokens.length]
    const headers = {
      ...order.headers,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(isNumbered === true ? { [NUMBER_HEADER]: String(number) } : {}),
    }
    const sentUs = nowUs()
    const status = await pool
      .request({ method: 'POST', path: url.pathname, headers, body })
      .then(async (answer) => {
        await answer.body.dump({ limit: 1 << 30 })
        return String(answer.statusCode)
      })
      .catch(() => 'none')
    if (!isCounted) return
    statuses[status] = (statuses[status] ?? 0) + 1
    if (status !== '200') return
    const answeredUs = nowUs()
    micros.push(Math.round(answeredUs - dueUs))
    if (isNumbered === true) calls.push({ number, dueUs, sentUs, answeredUs })
  }
  const due = schedule(order)
  const startedUs = nowUs()
  const pending: Promise<void>[] = []
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      for (
        let dueUs = due[pending.length];
        dueUs !== undefined && startedUs + dueUs <= nowUs();
        dueUs = due[pending.length]
      )
        pending.push(
          send(pending.length, startedUs + dueUs, dueUs >= order.warmUpSeconds * 1_000_000),
        )
      if (pending.length < due.length) return
      clearInterval(timer)
      resolve()
    }, TICK_MS)
  })
  await Promise.all(pending)
  await pool.close()
  return { micros, statuses, calls }
}

process.stdout.write(JSON.stringify(await run(JSON.parse(readFileSync(0, 'utf8')) as PacedOrder)))
