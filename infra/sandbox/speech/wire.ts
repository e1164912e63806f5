import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { bearerKey, Refusal, type Wire, wireOf } from '../http/wire.ts'
import { randomHex } from '../kit/clock.ts'

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

function messageOf(code: string): string {
  return MESSAGES[Number(code)] ?? 'system error'
}

/** A request this upstream does not serve, by the number of its wire. */
export function refusalOf(code: number, why?: string): Refusal {
  const words = messageOf(String(code))
  return new Refusal(String(code), why === undefined ? words : `${words}, ${why}`)
}

/** The answer for a code. */
export function refusalAnswer(code: string, traceId: string, message = messageOf(code)) {
  return {
    status: 200,
    headers: { 'trace-id': traceId },
    body: { trace_id: traceId, base_resp: { status_code: Number(code), status_msg: message } },
  }
}

const PROXY_PAGES: ReadonlySet<number> = new Set([502, 503, 504])

/** How speech, its files and its voices read credentials and tell errors. */
export function speechWire({ random, options }: FamilyKit, family: string): Wire {
  const wire = wireOf(
    {
      family,
      keyOf: bearerKey,
      denied: () => refusalOf(1004),
      unknownSwitch: (message) => new Refusal('2013', `${message}.`),
      messageOf,
      codeOfStatus: {},
      answer: ({ code, message }) => refusalAnswer(code, randomHex(random, 32), message),
    },
    options.apiKeys,
  )
  return {
    ...wire,
    // A proxy's page where a proxy would give it.
    failure: (status, faults) =>
      PROXY_PAGES.has(status)
        ? {
            status,
            body: `<html><body><h1>${status}</h1><hr>nginx</body></html>\n`,
            headers: { 'content-type': 'text/html' },
          }
        : { ...wire.refusal(status === 401 ? '1004' : '1000', faults), status },
  }
}

export const SUCCESS = { status_code: 0, status_msg: 'success' }

/** An answer that went well. */
export function succeeded({ random }: Pick<FamilyKit, 'random'>, body: object): Answer {
  return {
    status: 200,
    headers: {
      'trace-id': randomHex(random, 32),
      'content-type': 'application/json; charset=utf-8',
    },
    body: bare({ ...body, base_resp: SUCCESS }),
  }
}

/** JSON with ids as the bare numbers they are on this wire, beyond what a double holds. */
function bare(body: object): string {
  return JSON.stringify(body).replace(/"int64:(\d+)"/g, '$1')
}

/** Digits that `bare` writes as a number. */
export const int64 = (digits: string): string => `int64:${digits}`
