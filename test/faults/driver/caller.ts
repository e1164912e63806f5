import { setTimeout as sleep } from 'node:timers/promises'
import { envelopeOf } from './envelopes.ts'
import type { Witness } from './witness.ts'

/** One HTTP caller of the gateway; it notes every answer that is not of the family's shape. */

const REQUEST_TIMEOUT_MS = 20_000
const DOWN_PAUSE_MS = 60

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The same as JSON; empty where it is none. */
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
    /** A form, or what is sent as JSON. */
    readonly body?: unknown
    readonly headers?: Readonly<Record<string, string>>
    /** The caller hangs up after this. */
    readonly hangUpMs?: number
    /** Told of an answer that was broken off, as far as it came. */
    readonly onBroken?: (answer: Answer) => void
  },
) => Promise<Answer | undefined>

/** A tenant of a run, and a caller of its own. */
export interface Tenant {
  readonly tenantId: string
  readonly call: Call
}

/** Undefined when there was no answer: the gateway is down, or went down, or the caller hung up. */
export function createCaller({ address, token, witness }: CallerOptions): Call {
  return async (operation, method, path, options = {}) => {
    const { body, headers, hangUpMs, onBroken } = options
    const base = address()
    if (base === undefined) {
      await sleep(DOWN_PAUSE_MS)
      return undefined
    }
    let response: Response | undefined
    let text = ''
    try {
      response = await fetch(`${base}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined || body instanceof FormData
            ? {}
            : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: body instanceof FormData ? body : JSON.stringify(body) }),
        signal: AbortSignal.timeout(hangUpMs ?? REQUEST_TIMEOUT_MS),
      })
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
        text += piece
    } catch (error) {
      if (response !== undefined) onBroken?.(answerOf(response, text))
      witness.count(operation, 'none')
      const patience = hangUpMs === undefined && error instanceof Error
      if (patience && error.name === 'TimeoutError' && address() === base)
        witness.differ('no_answer', operation, `no answer in ${REQUEST_TIMEOUT_MS} ms`)
      await sleep(DOWN_PAUSE_MS)
      return undefined
    }
    const answer = saidOf(answerOf(response, text), path, method)
    witness.count(operation, answer.status)
    checkShape(witness, operation, path, answer)
    return answer
  }
}

function answerOf({ status, headers }: Response, text: string): Answer {
  return { status, headers, text, body: parse(text) }
}

/** With the status it would have, where a wire says in bodies alone that something failed. */
function saidOf(answer: Answer, path: string, method: string): Answer {
  if (answer.status !== 200) return answer
  return { ...answer, status: envelopeOf(path).statusOf?.(answer.body, method) ?? answer.status }
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function checkShape(
  witness: Witness,
  operation: string,
  path: string,
  { status, body, text }: Answer,
): void {
  const subject = `${operation} ${path.slice(0, 120)}`
  const { statuses, isFailure } = envelopeOf(path)
  if (!statuses.has(status))
    witness.differ('bad_status', subject, `answered ${status}: ${text.slice(0, 300)}`)
  if (status !== 200 && !isFailure(body, status))
    witness.differ('bad_envelope', subject, `${status}: ${text.slice(0, 300)}`)
}
