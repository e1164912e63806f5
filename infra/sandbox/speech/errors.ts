import { UnknownSwitch } from '../faults/vocabulary.ts'
import type { Answer } from '../http/exchange.ts'

/** Errors of this wire: `base_resp.status_code` of an answer that is 200 all the same. */

const MESSAGES: Readonly<Record<number, string>> = {
  1000: 'unknown error',
  1001: 'request timeout',
  1002: 'rate limit exceeded(RPM)',
  1004: 'login fail: Please carry the API secret key in the Authorization field',
  1008: 'insufficient balance',
  1026: 'input new_sensitive',
  1027: 'output new_sensitive',
  1033: 'system error',
  1039: 'rate limit exceeded(TPM)',
  1042: 'invisible character ratio limit',
  2013: 'invalid params',
  2037: 'voice duration too short',
  2038: 'voice clone no permission',
  2039: 'voice clone voice id duplicate',
  2042: 'You do not have access to this voice_id',
  2048: 'prompt audio too long',
  2049: 'invalid api key',
}

/** A request this upstream does not serve. */
export class SpeechRefusal extends Error {
  readonly statusCode: number

  constructor(statusCode: number, why?: string) {
    const words = MESSAGES[statusCode] ?? 'system error'
    super(why === undefined ? words : `${words}, ${why}`)
    this.statusCode = statusCode
  }
}

/** The answer for a code. */
export function refusalAnswer(code: number, traceId: string, message?: string): Answer {
  const refusal = message === undefined ? new SpeechRefusal(code).message : message
  return {
    status: 200,
    headers: { 'trace-id': traceId },
    body: { trace_id: traceId, base_resp: { status_code: code, status_msg: refusal } },
  }
}

/** The answer for something thrown, or null when it is no refusal. */
export function refusedAnswer(error: unknown, traceId: string): Answer | null {
  if (error instanceof SpeechRefusal) return refusalAnswer(error.statusCode, traceId, error.message)
  if (error instanceof UnknownSwitch) return refusalAnswer(2013, traceId, `${error.message}.`)
  return null
}

const PROXY_PAGES: ReadonlySet<number> = new Set([502, 503, 504])

/** The answer for a bare status: a proxy's page where a proxy would give it. */
export function failureAnswer(status: number, traceId: string): Answer {
  if (PROXY_PAGES.has(status))
    return {
      status,
      body: `<html><body><h1>${status}</h1><hr>nginx</body></html>\n`,
      headers: { 'content-type': 'text/html' },
    }
  return { ...refusalAnswer(status === 401 ? 1004 : 1000, traceId), status }
}
