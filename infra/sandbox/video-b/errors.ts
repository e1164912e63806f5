import type { Answer } from '../http/exchange.ts'
import { type Random, randomHex } from '../kit/random.ts'

/** A refusal on this wire: the number in its message decides its status and type. */
export class Refusal extends Error {
  readonly number: string

  constructor(number: string, message = messageOf(number)) {
    super(message)
    this.number = number
  }
}

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

/** The text that goes with a number where nothing more is known. */
export function messageOf(number: string): string {
  return MESSAGES[number] ?? 'request failed'
}

function answerOf(status: number, message: string, random: Random): Answer {
  const type = TYPES[status] ?? 'server_error'
  return {
    status,
    body: {
      type: 'error',
      error: { type, message, http_code: String(status) },
      request_id: randomHex(random, 32),
    },
  }
}

export function errorAnswer({ number, message }: Refusal, random: Random): Answer {
  return answerOf(STATUSES[number] ?? 400, `${message} (${number})`, random)
}

/** Nothing of that id, or not of this account. */
export function notFound(random: Random): Answer {
  return answerOf(404, 'record not found (1000)', random)
}

/** What a bare status looks like: the envelope where the service itself speaks, else a proxy's page. */
export function failureAnswer(status: number, random: Random): Answer {
  const type = TYPES[status]
  if (type !== undefined) return answerOf(status, `${type.replaceAll('_', ' ')} (1000)`, random)
  return {
    status: status >= 200 && status <= 599 ? status : 500,
    body: `<html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>\n`,
    headers: { 'content-type': 'text/html' },
  }
}
