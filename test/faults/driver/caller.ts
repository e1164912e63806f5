import { setTimeout as sleep } from 'node:timers/promises'
import type { Witness } from './witness.ts'

/** One HTTP caller of the gateway; it notes every answer that is not of the family's shape. */

/** An answer that has not come by then never comes: a machine with much else to do needs longer than one at rest. */
const REQUEST_TIMEOUT_MS = 120_000
const DOWN_PAUSE_MS = 60

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The same as JSON; empty where it is none. */
  readonly body: Readonly<Record<string, unknown>>
}

interface CallerOptions {
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

/** How each surface says that something failed, and with which statuses. */

type Fields = Readonly<Record<string, unknown>>

interface FailureShape {
  /** That callers may meet while anything at all is broken. */
  readonly statuses: ReadonlySet<number>
  readonly isFailure: (body: Fields, status: number) => boolean
  /** The status an answer would have, where its body alone says that something failed. */
  readonly statusOf?: (body: Fields, method: string) => number | undefined
}

/** Numbers of `base_resp`: no credit; a wrong parameter, which the id of nothing is too. */
const NO_BALANCE = 1008
const INVALID = 2013

const common = [200, 400, 402, 404, 409, 429, 502, 503]

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function hasTexts(fields: Fields, names: readonly string[]): boolean {
  return names.every((name) => typeof fields[name] === 'string')
}

const provA: FailureShape = {
  statuses: new Set(common),
  isFailure: ({ error }) => hasTexts(fieldsOf(error), ['code', 'message', 'param', 'type']),
}

const library: FailureShape = {
  statuses: new Set([...common, 403, 504]),
  isFailure: ({ ResponseMetadata: metadata }) => {
    const { Error: error, RequestId: id } = fieldsOf(metadata)
    return hasTexts({ id }, ['id']) && hasTexts(fieldsOf(error), ['Code', 'Message'])
  },
}

const shapes: readonly (readonly [prefix: string, FailureShape])[] = [
  ['/provA/?', library],
  ['/provA/', provA],
  [
    '/provB/v2/',
    {
      statuses: new Set([...common, 422]),
      isFailure: ({ type, error, request_id: requestId }, status) => {
        const fields = fieldsOf(error)
        return (
          type === 'error' &&
          typeof requestId === 'string' &&
          hasTexts(fields, ['type', 'message', 'http_code']) &&
          fields['http_code'] === String(status)
        )
      },
    },
  ],
  [
    '/provB/v1/',
    {
      statuses: new Set([...common, 504]),
      isFailure: ({ base_resp: base, trace_id: traceId }) => {
        const { status_code: code, status_msg: message } = fieldsOf(base)
        return (
          typeof code === 'number' &&
          code !== 0 &&
          hasTexts({ message, traceId }, ['message', 'traceId'])
        )
      },
      statusOf: ({ base_resp: base }, method) => {
        const { status_code: code = 0 } = fieldsOf(base)
        if (code === 0) return undefined
        if (code === NO_BALANCE) return 402
        return code === INVALID && method === 'GET' ? 404 : 400
      },
    },
  ],
  [
    '/provC/',
    {
      statuses: new Set(common),
      isFailure: ({ code, reason, message, metadata }, status) =>
        code === status &&
        hasTexts({ reason, message }, ['reason', 'message']) &&
        hasTexts(fieldsOf(metadata), ['trace_id']),
    },
  ],
  [
    '/v1/',
    {
      statuses: new Set([...common, 422, 504]),
      isFailure: ({ error }) => {
        const fields = fieldsOf(error)
        const { param } = fields
        return (
          hasTexts(fields, ['code', 'message', 'type']) &&
          (param === null || typeof param === 'string')
        )
      },
    },
  ],
]

/** @throws RangeError for a path of no surface */
export function envelopeOf(path: string): FailureShape {
  const found = shapes.find(([prefix]) => path.startsWith(prefix))
  if (found === undefined) throw new RangeError(`no surface has the path ${path}`)
  return found[1]
}
