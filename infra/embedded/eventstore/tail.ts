/**
 * The newest records in memory: live followers of the log are served from it without a database
 * read.
 */

import { MAX_TAIL_BYTES, PAGE_BYTES, PAGE_EVENTS } from './limits.ts'

/** Records in order of position, without gap, up to the last durable one; the oldest give way. */
export class Tail {
  #records: Buffer[] = []
  /** Index of the first kept record in the array; earlier ones are removed now and then. */
  #first = 0
  #firstPosition = 0
  #bytes = 0

  /** Adds newly committed records; the first one has the position `position`. */
  add(position: number, records: readonly Buffer[]): void {
    if (position !== this.#firstPosition + this.#records.length - this.#first) {
      this.clear()
      this.#firstPosition = position
    }
    for (const record of records) {
      this.#records.push(record)
      this.#bytes += record.length
    }
    while (this.#bytes > MAX_TAIL_BYTES) {
      this.#bytes -= this.#records[this.#first]?.length ?? 0
      this.#first += 1
      this.#firstPosition += 1
    }
    if (this.#first * 2 > this.#records.length) {
      this.#records = this.#records.slice(this.#first)
      this.#first = 0
    }
  }

  /** Forgets all records: durable ones have to be read again. */
  clear(): void {
    this.#records = []
    this.#first = 0
    this.#bytes = 0
  }

  /** A page of records from a position on; undefined when it is not all here. */
  page(from: number, to: number, limit: number): Buffer[] | undefined {
    const count = this.#records.length - this.#first
    if (count === 0 || from < this.#firstPosition) return undefined
    const start = this.#first + from - this.#firstPosition
    const most = Math.min(limit, PAGE_EVENTS, to - from + 1)
    const page: Buffer[] = []
    let bytes = 0
    for (const record of this.#records.slice(start, start + Math.max(0, most))) {
      bytes += record.length
      if (page.length > 0 && bytes > PAGE_BYTES) break
      page.push(record)
    }
    return page
  }
}
