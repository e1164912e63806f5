/**
 * Reads the entries of the database as they were written: with format 2 it checks every value.
 */

import type { ClassicLevel } from 'classic-level'
import { checked, checkedRecord, damaged, isAsWritten, withChecksum } from './checksum.ts'
import { PAGE_BYTES } from './limits.ts'

export type Level = ClassicLevel<Buffer, Buffer>

/** Keys from `gte` to `lte`, the last first where `reverse`. */
export interface KeyRange {
  readonly gte: Buffer
  readonly lte: Buffer
  readonly reverse?: boolean
  readonly limit: number
  /** Whether the blocks are kept in memory: not for entries that a replay reads once. */
  readonly fillCache?: boolean
}

export type Entry = readonly [key: Buffer, value: Buffer]

export class Entries {
  readonly #level: Level
  readonly hasChecksums: boolean

  constructor(level: Level, hasChecksums: boolean) {
    this.#level = level
    this.hasChecksums = hasChecksums
  }

  /** @throws {LogError} `damaged`, as the others */
  async get(key: Buffer): Promise<Buffer | undefined> {
    const [value] = await this.getMany([key])
    return value
  }

  async getMany(keys: readonly Buffer[]): Promise<readonly (Buffer | undefined)[]> {
    const stored = await readable(this.#level.getMany([...keys]))
    return stored.map((value, index) => {
      const key = keys[index]
      return value === undefined || key === undefined ? undefined : this.#valueOf(key, value)
    })
  }

  keys(range: KeyRange): Promise<Buffer[]> {
    return readable(this.#level.keys(range).all())
  }

  /** The first entries of a range, as many as fit into a page. */
  async page(range: KeyRange): Promise<readonly Entry[]> {
    const page = await this.#stored(range)
    return page.map(([key, stored]) => [key, this.#valueOf(key, stored)])
  }

  /** The records of the first events of a range, as many as fit into a page: without their keys, which cost. */
  async records(range: KeyRange): Promise<Buffer[]> {
    const { limit: _limit, ...bounds } = range
    const page = await pageOf(this.#level.values({ ...bounds, ...ONE_PAGE }), range)
    if (!this.hasChecksums) return page
    const records = page.map(checkedRecord)
    if (records.every((record) => record !== undefined)) return records
    // Gets values with their keys, so that a damaged one can be named.
    await this.page(range)
    throw damaged('an event')
  }

  /** The keys, each with whether its value is undamaged and found by its key. */
  async inspect(
    range: KeyRange,
  ): Promise<readonly { readonly key: Buffer; readonly isWhole: boolean }[]> {
    const page = await this.#stored(range)
    const found = await readable(this.#level.getMany(page.map(([key]) => key)))
    return page.map(([key, stored], index) => {
      const isFound = found[index]?.equals(stored) === true
      return { key, isWhole: isFound && (!this.hasChecksums || isAsWritten(key, stored)) }
    })
  }

  #stored(range: KeyRange): Promise<readonly Entry[]> {
    const { limit: _limit, ...bounds } = range
    return pageOf(this.#level.iterator({ ...bounds, ...ONE_PAGE }), range)
  }

  /** The stored form of a value. */
  stored(key: Buffer, value: Buffer): Buffer {
    return this.hasChecksums ? withChecksum(key, value) : value
  }

  #valueOf(key: Buffer, stored: Buffer): Buffer {
    return this.hasChecksums ? checked(key, stored) : stored
  }
}

const ONE_PAGE = { highWaterMarkBytes: PAGE_BYTES } as const

interface PageIterator<Item> {
  readonly nextv: (size: number) => Promise<Item[]>
  readonly seek: (key: Buffer) => void
  readonly close: () => Promise<void>
}

/**
 * The next items, after which it closes the iterator. A closed one keeps a copy of its last page,
 * unseen by the garbage collector, until it is collected itself: hundreds of megabytes in a replay.
 * Reading at the end of the range, where there are no items, clears it.
 */
async function pageOf<Item>(
  iterator: PageIterator<Item>,
  { gte, lte, reverse, limit }: KeyRange,
): Promise<Item[]> {
  try {
    const page = await readable(iterator.nextv(limit))
    iterator.seek(reverse === true ? gte : lte)
    await readable(iterator.nextv(1))
    return page
  } finally {
    await iterator.close()
  }
}

/** A block that LevelDB cannot decode is damaged too. */
async function readable<T>(read: Promise<T>): Promise<T> {
  try {
    return await read
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    if (Object(cause).code !== 'LEVEL_CORRUPTION') throw error
    throw damaged(`a block of a table (${String(Object(cause).message)})`)
  }
}
