import { createHmac } from 'node:crypto'
import { credentialHash } from '../calls/store.ts'
import { type Random, randomHex } from '../kit/random.ts'
import type { StoredTask } from '../tasks/store.ts'

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
