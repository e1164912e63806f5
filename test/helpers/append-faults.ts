/**
 * Faults a test can ask for: an append path that is slow, or that loses its answers.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { AppendHooks } from '../../infra/embedded/eventstore/types.ts'

const DELAY = 'delay-append-ms'
const LOSE = 'lose-ack-every'

/** Faults that can be changed while the server runs. */
export class SwitchableFaults implements AppendHooks {
  #delayMs = 0
  #loseEvery = 0
  #appends = 0

  /**
   * Replaces all faults: a comma-separated list of `delay-append-ms:N` (every append waits that
   * long) and `lose-ack-every:N` (every Nth append is committed but never answered).
   * The empty string means none. @throws {TypeError} for anything else
   */
  set(spec: string): void {
    let delayMs = 0
    let loseEvery = 0
    for (const part of spec.split(',').filter((text) => text !== '')) {
      const [name, value] = part.split(':')
      const number = Number(value)
      if (!Number.isSafeInteger(number) || number < 0) throw new TypeError(`bad fault: ${part}`)
      if (name === DELAY) delayMs = number
      else if (name === LOSE) loseEvery = number
      else throw new TypeError(`unknown fault: ${part}`)
    }
    this.#delayMs = delayMs
    this.#loseEvery = loseEvery
    this.#appends = 0
  }

  readonly beforeAppend = async (): Promise<void> => {
    if (this.#delayMs > 0) await sleep(this.#delayMs)
  }

  readonly loseAcknowledgement = (): boolean => {
    if (this.#loseEvery === 0) return false
    this.#appends += 1
    return this.#appends % this.#loseEvery === 0
  }
}
