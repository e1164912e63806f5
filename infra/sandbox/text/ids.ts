import { randomBase36 } from '../kit/random.ts'
import type { Random } from '../kit/random.ts'

/** Makes ids that are new in this process and, unless the seed is given, in any other. */
export class IdMaker {
  readonly #start: string
  #made = 0

  constructor(random: Random) {
    this.#start = randomBase36(random, 12)
  }

  /** The prefix and 20 base-36 digits. */
  next(prefix: string): string {
    this.#made += 1
    return prefix + this.#start + this.#made.toString(36).padStart(8, '0')
  }
}
