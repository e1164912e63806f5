/**
 * The newest records in memory: live followers of the log are served from it without a database
 * read.
 */

import { MAX_TAIL_BYTES, PAGE_BYTES, PAGE_EVENTS } from './limits.ts'

/**
 * Copies of the records in order of position, without gap, up to the last durable one; the oldest give way. They
 * share one piece of memory: kept each by itself, every record would outlive the young generation and stay until the
 * whole heap is collected.
 */
export class Tail {
  readonly #ring = Buffer.allocUnsafeSlow(MAX_TAIL_BYTES)
  /** Where each record begins, counted in all bytes ever added; its place in the ring is the rest. */
  #begins: number[] = []
  /** Where the next record begins. */
  #end = 0
  /** Index of the first kept record in the array; earlier ones are removed now and then. */
  #first = 0
  #firstPosition = 0

  /** Adds newly committed records; the first one has the position `position`. */
  add(position: number, records: readonly Buffer[]): void {
    if (position !== this.#firstPosition + this.#begins.length - this.#first) {
      this.clear()
      this.#firstPosition = position
    }
    for (const record of records) {
      this.#makeRoom(record.length)
      this.#begins.push(this.#end)
      const place = this.#end % MAX_TAIL_BYTES
      const atEnd = record.copy(this.#ring, place)
      if (atEnd < record.length) record.copy(this.#ring, 0, atEnd)
      this.#end += record.length
    }
    if (this.#first * 2 > this.#begins.length) {
      this.#begins = this.#begins.slice(this.#first)
      this.#first = 0
    }
  }

  /** Lets the oldest records go until so many bytes fit; a record is never larger than the largest append. */
  #makeRoom(bytes: number): void {
    while (
      this.#first < this.#begins.length &&
      this.#end + bytes - (this.#begins[this.#first] ?? 0) > MAX_TAIL_BYTES
    ) {
      this.#first += 1
      this.#firstPosition += 1
    }
  }

  /** Forgets all records: durable ones have to be read again. */
  clear(): void {
    this.#begins = []
    this.#first = 0
  }

  /** A page of records from a position on; undefined when it is not all here. */
  page(from: number, to: number, limit: number): Buffer[] | undefined {
    const count = this.#begins.length - this.#first
    if (count === 0 || from < this.#firstPosition) return undefined
    const start = this.#first + from - this.#firstPosition
    const most = Math.min(limit, PAGE_EVENTS, to - from + 1)
    const begin = this.#begins[start] ?? this.#end
    const ends: number[] = []
    for (let at = start; at < this.#begins.length && ends.length < most; at += 1) {
      const end = (this.#begins[at + 1] ?? this.#end) - begin
      if (ends.length > 0 && end > PAGE_BYTES) break
      ends.push(end)
    }
    const copy = this.#copy(begin, ends.at(-1) ?? 0)
    return ends.map((end, index) => copy.subarray(ends[index - 1] ?? 0, end))
  }

  /** A copy that later records do not overwrite. */
  #copy(begin: number, bytes: number): Buffer {
    const copy = Buffer.allocUnsafe(bytes)
    const place = begin % MAX_TAIL_BYTES
    const atEnd = this.#ring.copy(copy, 0, place, Math.min(place + bytes, MAX_TAIL_BYTES))
    this.#ring.copy(copy, atEnd, 0, bytes - atEnd)
    return copy
  }
}
