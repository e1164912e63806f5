import { Counter, type Registry } from 'prom-client'
import { createLru } from '../../kernel/lru.ts'
import { addressBlock } from '../../kernel/address-ranges.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Allowance } from '../spending/throttle/allowance.ts'

/** About 200 bytes each. */
const MAX_BLOCKS = 20_000

/**
 * Counts the unknown secrets that each address tried: at its limit per minute, no more are looked
 * up until one has flowed back. An IPv6 /64, which one customer has, counts as one address.
 */
export class UnknownSecrets {
  readonly #blocks = createLru<string, Allowance>(MAX_BLOCKS)
  readonly #perMinute: number
  readonly #clock: Clock
  readonly #answers: Counter<'answer'>

  constructor(perMinute: number, monotonic: Clock, registry?: Registry) {
    this.#perMinute = perMinute
    this.#clock = monotonic
    this.#answers = new Counter({
      name: 'tollgate_unknown_tokens_total',
      help: 'Requests with an unknown token: answered 401, or 429 without a look-up after too many from one address.',
      labelNames: ['answer'],
      registers: registry === undefined ? [] : [registry],
    })
  }

  /** Milliseconds until the address may try another; 0 when it may now. */
  waitMs(address: string): number {
    const known = this.#blocks.get(addressBlock(address))
    return this.#counted(known?.waitMs(1, this.#perMinute, this.#clock.nowMs()) ?? 0)
  }

  /** Counts a try: 0 when the answer may be "unknown", else how long to wait, in milliseconds. */
  tried(address: string): number {
    const nowMs = this.#clock.nowMs()
    const block = addressBlock(address)
    const allowance = this.#blocks.get(block) ?? new Allowance(nowMs)
    // Makes the entry the youngest, so that an address that continues is not evicted.
    this.#blocks.set(block, allowance)
    const waitMs = allowance.waitMs(1, this.#perMinute, nowMs)
    if (waitMs > 0) return this.#counted(waitMs)
    allowance.take(1, this.#perMinute, nowMs)
    this.#answers.inc({ answer: '401' })
    return 0
  }

  #counted(waitMs: number): number {
    if (waitMs > 0) this.#answers.inc({ answer: '429' })
    return waitMs
  }
}
