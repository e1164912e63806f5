import type { FamilyKit } from '../family.ts'
import type { Answer } from '../http/exchange.ts'
import { bearerKey, proxyPage, Refusal, type Wire, wireOf } from '../http/wire.ts'
import { randomHex } from '../kit/clock.ts'

/** Errors of this wire: the number in a message decides its status and type. */

const TYPES: Readonly<Record<number, string>> = {
  400: 'bad_request_error',
  401: 'authorized_error',
  402: 'insufficient_balance_error',
  404: 'not_found_error',
  422: 'unprocessable_entity_error',
  429: 'rate_limit_error',
  500: 'server_error',
  529: 'overloaded_error',
}

/** Whatever is not listed is a 400. */
const STATUSES: Readonly<Record<string, number>> = {
  '1000': 500,
  '1002': 429,
  '1004': 401,
  '1008': 402,
  '1026': 422,
  '1027': 422,
  '2049': 401,
  '2062': 429,
}

const MESSAGES: Readonly<Record<string, string>> = {
  '1000': 'unknown error',
  '1002': 'rate limit',
  '1004': 'login fail: please carry the API secret key',
  '1008': 'insufficient balance',
  '1026': 'input content sensitive',
  '1027': 'output content sensitive',
  '2013': 'invalid params',
  '2049': 'invalid api key',
}

/** Nothing of that id, or not of this account: a 404 of the number that is a 500 elsewhere. */
export const NOT_FOUND = new Refusal('1000', 'record not found')

/** The text that goes with a number where nothing more is known. */
export function messageOf(number: string): string {
  return MESSAGES[number] ?? 'request failed'
}

/** How this family reads credentials and tells errors. */
export function videoWire({ random, options }: FamilyKit, family: string): Wire {
  const answerOf = (status: number, message: string): Answer => {
    const type = TYPES[status] ?? 'server_error'
    const error = { type, message, http_code: String(status) }
    return { status, body: { type: 'error', error, request_id: randomHex(random, 32) } }
  }
  const wire = wireOf(
    {
      family,
      keyOf: bearerKey,
      denied: () => new Refusal('1004', messageOf('1004')),
      unknownSwitch: (message) => new Refusal('2013', message),
      messageOf,
      codeOfStatus: {},
      answer: (refusal) => {
        const { code, message } = refusal
        const status = refusal === NOT_FOUND ? 404 : (STATUSES[code] ?? 400)
        return answerOf(status, `${message} (${code})`)
      },
    },
    options.apiKeys,
  )
  return {
    ...wire,
    failure: (status) => {
      const type = TYPES[status]
      if (type === undefined) return proxyPage(status)
      return answerOf(status, `${type.replaceAll('_', ' ')} (1000)`)
    },
  }
}
