import type { Dice } from '../random.ts'

/** What is the same of every order that is answered at once, or made by a worker of ours. */

/** How the result comes: whole, whole by URL, as a stream, or asked for later. */
export type Way = 'whole' | 'url' | 'streamed' | 'async'

export interface Order {
  readonly marker: string
  /** External name. */
  readonly model: string
  readonly way: Way
  readonly switches: readonly string[]
  readonly path: string
  /** Its JSON, or the parts of its form. */
  readonly body: Readonly<Record<string, unknown>>
}

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
