import { LRUCache } from 'lru-cache'
import type { FoundToken } from '../../../projections/access/query.ts'
import type { Clock } from '../../kernel/clock.ts'

/** About 1 KiB each. */
const MAX_KNOWN = 200_000
/** Those that guess push out no token. */
const MAX_UNKNOWN = 20_000
/** Then it is looked at again, and serves meanwhile: the log tells of every change, so that it is seldom another. */
const FRESH_FOR_MS = 30_000
/** It serves no longer, whatever became of those who tell. */
const KNOWN_FOR_MS = 120_000
/** A secret the log confirmed as unknown; issuing it drops the entry by its hash. */
const UNKNOWN_FOR_MS = 5_000

interface Known {
  readonly token: FoundToken
  readonly readAtMs: number
}

export interface CachedToken {
  /** Undefined: there is no such token. */
  readonly token: FoundToken | undefined
  /** It should be looked at again. */
  readonly isOld: boolean
}

/** Tokens by the hash of a secret, in memory. */
export class TokenCache {
  readonly #known = new LRUCache<string, Known>({ max: MAX_KNOWN })
  readonly #unknown = new LRUCache<string, number>({ max: MAX_UNKNOWN })
  /** Secrets of each token, so that a change of it is no walk through all; some may be gone. */
  #hashes = new Map<string, readonly string[]>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Undefined where it is not known, or was read too long ago. */
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

  /** As it was read just now. */
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

  /** A secret is not what it was. */
  delete(hash: string): void {
    this.#known.delete(hash)
    this.#unknown.delete(hash)
  }

  /** All secrets of a token. */
  forget(tokenId: string): void {
    for (const hash of this.#hashes.get(tokenId) ?? []) this.#known.delete(hash)
    this.#hashes.delete(tokenId)
  }

  /** Leaves out what has been pushed out since. */
  #index(): void {
    const hashes = new Map<string, readonly string[]>()
    for (const [hash, { token }] of this.#known)
      hashes.set(token.tokenId, [...(hashes.get(token.tokenId) ?? []), hash])
    this.#hashes = hashes
  }
}
