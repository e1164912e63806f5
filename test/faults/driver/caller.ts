import { setTimeout as sleep } from 'node:timers/promises'
import type { Witness } from './witness.ts'

/** One HTTP caller of the gateway; it notes every answer that is not of the family's shape. */

const REQUEST_TIMEOUT_MS = 20_000
const DOWN_PAUSE_MS = 60
export const TASKS = '/provA/api/v3/contents/generations/tasks'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

export interface CallerOptions {
  /** Where the gateway is now; undefined while it is down. */
  readonly address: () => string | undefined
  readonly token: string
  readonly witness: Witness
}

export type Call = (
  operation: string,
  method: string,
  path: string,
  options?: {
    readonly body?: unknown
    readonly headers?: Readonly<Record<string, string>>
    /** The caller hangs up after this. */
    readonly hangUpMs?: number
  },
) => Promise<Answer | undefined>

/** Undefined when there was no answer: the gateway is down, or went down, or the caller hung up. */
export function createCaller({ address, token, witness }: CallerOptions): Call {
  return async (operation, method, path, { body, headers, hangUpMs } = {}) => {
    const base = address()
    if (base === undefined) {
      await sleep(DOWN_PAUSE_MS)
      return undefined
    }
    let response: Response
    let text: string
    try {
      response = await fetch(`${base}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(hangUpMs ?? REQUEST_TIMEOUT_MS),
      })
      text = await response.text()
    } catch (error) {
      witness.count(operation, 'none')
      const patience = hangUpMs === undefined && error instanceof Error
      if (patience && error.name === 'TimeoutError' && address() === base)
        witness.differ('no_answer', operation, `no answer in ${REQUEST_TIMEOUT_MS} ms`)
      await sleep(DOWN_PAUSE_MS)
      return undefined
    }
    witness.count(operation, response.status)
    const answer = { status: response.status, headers: response.headers, body: parse(text) }
    checkShape(witness, operation, path, answer, text)
    return answer
  }
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Statuses this family's callers may meet while anything at all is broken. */
const allowed = new Set([200, 400, 402, 404, 409, 429, 502, 503])

function checkShape(
  witness: Witness,
  operation: string,
  path: string,
  { status, body }: Answer,
  text: string,
): void {
  const subject = `${operation} ${path.slice(0, 120)}`
  if (!allowed.has(status))
    witness.differ('bad_status', subject, `answered ${status}: ${text.slice(0, 300)}`)
  if (status === 200) return
  const error = body['error']
  const fields = typeof error === 'object' && error !== null ? error : {}
  const shaped = ['code', 'message', 'param', 'type'].every(
    (name) => typeof (fields as Record<string, unknown>)[name] === 'string',
  )
  if (!shaped) witness.differ('bad_envelope', subject, `${status}: ${text.slice(0, 300)}`)
}
