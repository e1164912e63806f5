/** The places that one token takes, and the work that waits for one. */
interface Places {
  count: number
  readonly waiting: Set<() => void>
}

/**
 * Bounds how much work of one token is done at once: further work of the token waits in order, so
 * that it does not delay other tokens.
 */
export class TokenPlaces {
  readonly #perToken: number
  readonly #waitMs: number
  readonly #onWait: () => void
  readonly #held = new Map<string, Places>()

  constructor(perToken: number, waitMs: number, onWait: () => void = () => undefined) {
    this.#perToken = perToken
    this.#waitMs = waitMs
    this.#onWait = onWait
  }

  /**
   * Calls `begin` once the token has a place, which `leave` gives back; or, after it waited too long,
   * with true and without a place.
   */
  enter(tokenId: string, begin: (isLate: boolean) => void): void {
    const places = this.#held.get(tokenId) ?? { count: 0, waiting: new Set() }
    this.#held.set(tokenId, places)
    if (places.count < this.#perToken) {
      places.count += 1
      begin(false)
      return
    }
    this.#onWait()
    const inTurn = (): void => {
      clearTimeout(timer)
      begin(false)
    }
    const timer = setTimeout(() => {
      places.waiting.delete(inTurn)
      begin(true)
    }, this.#waitMs)
    places.waiting.add(inTurn)
  }

  leave(tokenId: string): void {
    const places = this.#held.get(tokenId)
    if (places === undefined) return
    const [next] = places.waiting
    if (next !== undefined) {
      places.waiting.delete(next)
      next()
    } else if ((places.count -= 1) === 0) this.#held.delete(tokenId)
  }
}
