import type { Clock } from '../../kernel/clock.ts'

/** Positions that were seen longer ago than this say nothing: a heartbeat reads them each second. */
const SEEN_FOR_MS = 3_000
/** A read model is asked again after this, whatever was seen: a rebuild may put other rows at the same position. */
const ASKED_AT_LEAST_MS = 10_000

/**
 * Positions of the read models, as the heartbeat of this process read them last. Idle rounds ask nothing of a read model
 * that no event has moved since it had nothing for them.
 */
export class SeenModels {
  readonly #clock: Clock
  #positions: ReadonlyMap<string, bigint> = new Map()
  #atMs = Number.NEGATIVE_INFINITY

  /** @param clock only durations are measured with it, so it must be monotonic */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Notes the positions that a statement read, by name of the read model. */
  note(positions: ReadonlyMap<string, bigint>): void {
    this.#positions = positions
    this.#atMs = this.#clock.nowMs()
  }

  /** The position of a read model about a second ago; undefined where none was read of late. */
  positionOf(model: string): bigint | undefined {
    return this.#clock.nowMs() - this.#atMs < SEEN_FOR_MS ? this.#positions.get(model) : undefined
  }
}

/** Keys of which a read model has nothing. */
export interface KnownEmpty {
  /** Whether the read model had nothing of this key, and no event has moved it since. */
  readonly has: (key: string) => boolean
  /** Called before it is asked; the result notes the answer about a key. */
  readonly asking: () => (key: string, isEmpty: boolean) => void
}

/** Remembers of which keys a read model has nothing. @param clock must be monotonic */
export function createKnownEmpty(models: SeenModels, model: string, clock: Clock): KnownEmpty {
  const known = new Map<string, { readonly position: bigint; readonly askedMs: number }>()
  return {
    has: (key) => {
      const last = known.get(key)
      return (
        last !== undefined &&
        last.position === models.positionOf(model) &&
        clock.nowMs() - last.askedMs < ASKED_AT_LEAST_MS
      )
    },
    asking: () => {
      // The read model may have moved since it was seen there; then the next heartbeat shows that.
      const position = models.positionOf(model)
      const askedMs = clock.nowMs()
      return (key, isEmpty) => {
        if (isEmpty && position !== undefined) known.set(key, { position, askedMs })
        else known.delete(key)
      }
    },
  }
}
