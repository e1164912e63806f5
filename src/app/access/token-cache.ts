import { createLru } from '../../kernel/lru.ts'
import type { FoundToken } from '../../../projections/access/query.ts'
import type { Clock } from '../../kernel/clock.ts'

/** About 1 KiB each. */
const MAX_KNOWN = 200_000
/** A separate bound, so that guesses evict no token. */
const MAX_UNKNOWN = 20_000
/** After this it is refreshed while memory serves it; every change arrives from the log anyway. */
const FRESH_FOR_MS = 30_000
/** After this memory does not serve it, even if the log subscription fails. */
const KNOWN_FOR_MS = 120_000
/** An older token is not recalled either: no session of the console lasts longer. */
const RECALLED_FOR_MS = 12 * 3_600_000
/** A secret that the log confirmed as unknown; issuing it deletes the entry by its hash. */
const UNKNOWN_FOR_MS = 5_000

interface Known {
  readonly token: FoundToken
  readonly readAtMs: number
}

interface CachedToken {
  /** Undefined: the token does not exist. */
  readonly token: FoundToken | undefined
  /** Whether the entry should be read again. */
  readonly isOld: boolean
}

/** Tokens by the hash of a secret, in memory. */
export class TokenCache {
  readonly #known = createLru<string, Known>(MAX_KNOWN)
  readonly #unknown = createLru<string, number>(MAX_UNKNOWN)
  /** Hashes of each token, so that a change need not scan all; some may be evicted already. */
  #hashes = new Map<string, readonly string[]>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Undefined when it is not cached, or was read too long ago. */
  get(hash: string): CachedToken | undefined {
    const nowMs = this.#clock.nowMs()
    const known = this.#known.get(hash)
    if (known !== undefined) {
      const ageMs = nowMs - known.readAtMs
      return ageMs < KNOWN_FOR_MS ? { token: known.token, isOld: ageMs >= FRESH_FOR_MS } : undefined
    }
    const confirmedAtMs = this.#unknown.get(hash)
    if (confirmedAtMs === undefined || nowMs - confirmedAtMs >= UNKNOWN_FOR_MS) return undefined
    return { token: undefined, isOld: false }
  }

  /** The token as it was last read, while no event has changed it since; for times without its table. */
  recall(hash: string): FoundToken | undefined {
    const known = this.#known.get(hash)
    if (known === undefined || this.#clock.nowMs() - known.readAtMs >= RECALLED_FOR_MS)
      return undefined
    return known.token
  }

  /** Stores the result of a read. */
  set(hash: string, token: FoundToken | undefined): void {
    const readAtMs = this.#clock.nowMs()
    if (token === undefined) {
      this.#known.delete(hash)
      this.#unknown.set(hash, readAtMs)
      return
    }
    this.#unknown.delete(hash)
    this.#known.set(hash, { token, readAtMs })
    const others = this.#hashes.get(token.tokenId) ?? []
    if (!others.includes(hash)) this.#hashes.set(token.tokenId, [...others, hash])
    if (this.#hashes.size > 2 * MAX_KNOWN) this.#index()
  }

  /** Drops a changed secret. */
  delete(hash: string): void {
    this.#known.delete(hash)
    this.#unknown.delete(hash)
  }

  /** Drops all secrets of a token. */
  forget(tokenId: string): void {
    for (const hash of this.#hashes.get(tokenId) ?? []) this.#known.delete(hash)
    this.#hashes.delete(tokenId)
  }

  /** Removes evicted entries from the index. */
  #index(): void {
    const hashes = new Map<string, readonly string[]>()
    for (const [hash, { token }] of this.#known)
      hashes.set(token.tokenId, [...(hashes.get(token.tokenId) ?? []), hash])
    this.#hashes = hashes
  }
}
