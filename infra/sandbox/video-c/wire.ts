import { createHmac } from 'node:crypto'
import { credentialHash } from '../calls/store.ts'
import type { FamilyKit } from '../family.ts'
import { Refusal, type Wire, wireOf } from '../http/wire.ts'
import { type Random, randomHex } from '../kit/clock.ts'
import type { StoredTask } from '../tasks/store.ts'

/** Errors of this wire: a reason decides its HTTP status. */

/** Whatever is not listed is a 400. */
const STATUSES: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  TaskNotFound: 404,
  CreationNotFound: 404,
  NotFound: 404,
  Conflict: 409,
  QuotaExceeded: 429,
  TooManyRequests: 429,
  SystemThrottling: 429,
  Canceled: 499,
  InternalServiceFailure: 500,
}

const MESSAGES: Readonly<Record<string, string>> = {
  Unauthorized: 'token is invalid',
  TaskNotFound: 'task not found',
  CreditInsufficient: 'credit is insufficient',
  InternalServiceFailure: 'internal service failure',
  SystemThrottling: 'system is throttling, try again later',
}

function messageOf(reason: string): string {
  return MESSAGES[reason] ?? `the request failed: ${reason}`
}

const REASON_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'TaskNotFound',
  409: 'Conflict',
  429: 'SystemThrottling',
  499: 'Canceled',
  500: 'InternalServiceFailure',
}

/** A refusal with the usual text of its reason. */
export function refusalOf(reason: string): Refusal {
  return new Refusal(reason, messageOf(reason))
}

/** How this family reads credentials, which are `Token` and not `Bearer`, and tells errors. */
export function videoWire(
  { random, options }: FamilyKit,
  family: string,
  keys: CallbackKeys,
): Wire {
  const wire = wireOf(
    {
      family,
      keyOf: ({ headers }) => /^Token\s+(\S+)$/.exec(headers.authorization ?? '')?.[1],
      denied: () => refusalOf('Unauthorized'),
      unknownSwitch: (message) => new Refusal('FieldInvalid', message),
      messageOf,
      codeOfStatus: REASON_OF_STATUS,
      answer: ({ code: reason, message }) => {
        const status = STATUSES[reason] ?? 400
        const metadata = { trace_id: randomHex(random, 32) }
        return { status, body: { code: status, reason, message, metadata } }
      },
    },
    options.apiKeys,
  )
  return {
    ...wire,
    credential: (request) => {
      const key = wire.credential(request)
      keys.learn(key)
      return key
    },
  }
}

/** Callbacks are signed with the credential that made the task, which is on no record: it is learned. */

const ACCESS_KEY = 'clip'
const MAX_ACCOUNTS = 1_000

export class CallbackKeys {
  readonly #keys = new Map<string, string>()
  readonly #random: Random
  readonly #nowMs: () => number

  constructor(random: Random, nowMs: () => number) {
    this.#random = random
    this.#nowMs = nowMs
  }

  learn(credential: string): void {
    if (this.#keys.size < MAX_ACCOUNTS) this.#keys.set(credentialHash(credential), credential)
  }

  headersFor({ record }: StoredTask, target: URL): Readonly<Record<string, string>> {
    const key = this.#keys.get(record.credential)
    if (key === undefined) return {}
    const date = new Date(this.#nowMs()).toUTCString()
    const nonce = randomHex(this.#random, 32)
    const signed = [`Date:${date}`, `x-request-nonce:${nonce}`]
    const parts = ['POST', target.pathname, target.search.slice(1), ACCESS_KEY, date, ...signed]
    const text = parts.map((part) => `${part}\n`).join('')
    return {
      date,
      'x-request-nonce': nonce,
      'x-hmac-signed-headers': 'Date;x-request-nonce',
      'x-hmac-algorithm': 'hmac-sha256',
      'x-hmac-access-key': ACCESS_KEY,
      'x-hmac-signature': createHmac('sha256', key).update(text).digest('base64'),
    }
  }
}
