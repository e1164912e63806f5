import type { Pool } from 'pg'
import { createLru } from '../../kernel/lru.ts'
import { findTokenByHash, type FoundToken } from '../../../projections/access/query.ts'
import { waitForPosition } from '../../../projections/engine/wait.ts'
import { mayHaveRole, tokenStream, tokenStreams } from '../../domain/token/events.ts'
import type { EventLog, RecordedEvent, UnknownEvent } from '../../eventlog/log/types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { RetryLog } from '../../kernel/retry-log.ts'
import { createSharedCatchUp } from './catch-up.ts'
import { TokenCache } from './token-cache.ts'

const CATCH_UP_MS = 2_000
const MAX_CHANGED = 10_000
/** Tokens refreshed in parallel while memory serves them. */
const MAX_REFRESHING = 8

/** A row, and the generation in which its read began. */
interface Read {
  readonly token: FoundToken | undefined
  readonly readAt: number
}

/** Tokens by the hash of a secret: from memory if that is recent enough, else the read model. */
export class TokenLookUp {
  readonly #pool: Pool
  readonly #log: Pick<EventLog, 'readStream'>
  readonly #retries: RetryLog
  readonly #cache: TokenCache
  readonly #catchUp: () => Promise<void>
  readonly #refreshing = new Set<string>()
  /** Positions the read model must have passed before a token's row is trusted. */
  readonly #changed = createLru<string, bigint>(MAX_CHANGED)
  /** Counts the noticed events: a read that began before an event is not cached. */
  #generation = 0

  constructor(deps: {
    readonly pool: Pool
    readonly log: Pick<EventLog, 'endPosition' | 'readStream'>
    /** Measures how long ago a token was looked up. */
    readonly monotonic: Clock
    readonly retries: RetryLog
  }) {
    const { pool, log } = deps
    this.#pool = pool
    this.#log = log
    this.#retries = deps.retries
    this.#cache = new TokenCache(deps.monotonic)
    this.#catchUp = createSharedCatchUp(async () => {
      const end = await log.endPosition()
      if (end !== undefined && !(await waitForPosition(pool, 'access', end, CATCH_UP_MS)))
        throw new Error('the access read model is behind the event log')
    })
  }

  /** The cached token; undefined when none is cached. */
  cached(hash: string): { readonly token: FoundToken | undefined } | undefined {
    const cached = this.#cache.get(hash)
    if (cached?.isOld === true) void this.#refresh(hash)
    return cached
  }

  /** The token as it was last read, while no event of the log has changed it since. */
  recall(hash: string): FoundToken | undefined {
    return this.#cache.recall(hash)
  }

  /** @throws errors of Postgres and of the log, also when the read model is behind */
  async lookUp(hash: string): Promise<FoundToken | undefined> {
    let found = await this.#read(hash)
    if (found.token === undefined) {
      // A token may have been issued a moment ago: only the log proves that it does not exist.
      await this.#catchUp()
      found = await this.#read(hash)
    }
    this.#retries.worked()
    this.#remember(hash, found)
    return found.token
  }

  /** Memory does not serve a token again that an event changed. */
  noticed(event: RecordedEvent): void {
    if (event.type === 'TokenIssued') {
      this.#generation += 1
      this.#cache.delete(event.data.secretHash)
      return
    }
    if (!changesToken(event)) return
    this.#generation += 1
    const { tokenId } = event.data
    this.#cache.forget(tokenId)
    if (event.type === 'TokenRotated') this.#cache.delete(event.data.secretHash)
    this.#changed.set(tokenId, event.position)
  }

  /** Called with an event that this program cannot decode: it may change its token. */
  noticedUnknown({ stream, position }: UnknownEvent): void {
    this.#generation += 1
    const tokenId = stream.slice(tokenStreams.length)
    this.#cache.forget(tokenId)
    this.#changed.set(tokenId, position)
  }

  // A read that began before a change may end after it, and after a later read.
  #remember(hash: string, { token, readAt }: Read): void {
    if (readAt === this.#generation) this.#cache.set(hash, token)
  }

  /** The row of a secret, no older than the changes noticed before. */
  async #read(hash: string): Promise<Read> {
    for (;;) {
      const readAt = this.#generation
      const token = await findTokenByHash(this.#pool, hash)
      const position = token && this.#changed.get(token.tokenId)
      if (token === undefined) return { token, readAt }
      if (position === undefined) return { token: await this.#withRole(token), readAt }
      if (!(await waitForPosition(this.#pool, 'access', position, CATCH_UP_MS)))
        throw new Error('the access read model is behind a change of this token')
      if (this.#changed.get(token.tokenId) === position) this.#changed.delete(token.tokenId)
    }
  }

  /**
   * Takes the role of a token from the log while the read model is rebuilt for it: without its role
   * the token could do everything within its scope.
   */
  async #withRole(token: FoundToken): Promise<FoundToken> {
    if (token.isRoleKnown || !mayHaveRole(token.kind)) return token
    const [issued] = await this.#log.readStream(tokenStream(token.tokenId), { limit: 1 })
    if (issued?.type !== 'TokenIssued') throw new Error('the log does not have this token')
    return { ...token, role: issued.data.role }
  }

  /** Reads in the background, while memory serves the caller. */
  async #refresh(hash: string): Promise<void> {
    if (this.#refreshing.size >= MAX_REFRESHING || this.#refreshing.has(hash)) return
    this.#refreshing.add(hash)
    try {
      this.#remember(hash, await this.#read(hash))
    } catch (error) {
      this.#retries.failed({ err: error }, 'a token could not be looked up')
    } finally {
      this.#refreshing.delete(hash)
    }
  }
}

const changingTypes = [
  'TokenRotated',
  'TokenLimitsChanged',
  'TokenUpdated',
  'TokenDisabled',
] as const
type ChangingType = (typeof changingTypes)[number]
const changing: ReadonlySet<string> = new Set(changingTypes)

function changesToken(
  event: RecordedEvent,
): event is Extract<RecordedEvent, { readonly type: ChangingType }> {
  return changing.has(event.type)
}
