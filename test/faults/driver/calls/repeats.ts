import type { Dice } from '../random.ts'

/** Requests that were sent under an `Idempotency-Key`: their caller sends some of them again, lives later. */

const MAX_KEPT = 16

export class Repeats {
  readonly #sends: (() => Promise<unknown>)[] = []

  get some(): boolean {
    return this.#sends.length > 0
  }

  /** Keeps how to send one again; the oldest is dropped where there are too many. */
  keep(send: () => Promise<unknown>): void {
    this.#sends.push(send)
    if (this.#sends.length > MAX_KEPT) this.#sends.shift()
  }

  /** Sends one of them again, as it was. */
  async sendOne(dice: Dice): Promise<void> {
    await dice.pick(this.#sends)()
  }
}
