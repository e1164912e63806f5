import { DomainError } from '../../../kernel/errors.ts'

/** Of all pictures that are being fetched for calls, or were for one that still runs, in one process. */
const MAX_FETCHED_BYTES = 512 * 1024 * 1024

/** What one call holds of that room. */
export interface FetchRoom {
  /** @throws DomainError `overloaded` when there is not so much */
  readonly take: (bytes: number) => void
  readonly give: (bytes: number) => void
  /** The call is over. */
  readonly leave: () => void
}

/** Bounds what a process holds of fetched pictures, which come besides the bodies of requests (P10). */
export function createFetchRooms(maxBytes = MAX_FETCHED_BYTES): {
  readonly enter: () => FetchRoom
} {
  let takenBytes = 0
  return {
    enter: () => {
      let mineBytes = 0
      let isOver = false
      const give = (bytes: number): void => {
        // What another failure overtook has been given back with the rest.
        if (isOver) return
        takenBytes -= bytes
        mineBytes -= bytes
      }
      return {
        take: (bytes) => {
          if (takenBytes + bytes > maxBytes)
            throw new DomainError('overloaded', 'Too many images are being fetched at once', {})
          takenBytes += bytes
          mineBytes += bytes
        },
        give,
        leave: () => {
          give(mineBytes)
          isOver = true
        },
      }
    },
  }
}
