/**
 * Checks the tables of a LevelDB (its `table_format.md`): LevelDB stores a checksum after every
 * block and does not compare it. A process that reads a length from a damaged block aborts without
 * a message.
 */

import { type FileHandle, open } from 'node:fs/promises'
import { fourNumbersIn, numberAt, storedSum } from './write-ahead-log.ts'

/** The last bytes of every table: two places of blocks, and these eight. */
const FOOTER_BYTES = 48
const TABLE_END = Buffer.from('57fb808b247547db', 'hex')
/** A block's kind and checksum stand behind it. */
const TRAILER_BYTES = 5
const COMPRESSED = 1

interface BlockHandle {
  readonly at: number
  readonly length: number
}

/**
 * Describes the damage of a table; undefined if there is none. It checks the index, by which
 * LevelDB finds all other blocks, and `deeply` each of them.
 */
export async function damageOf(
  path: string,
  { deeply }: { readonly deeply: boolean },
): Promise<string | undefined> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const footer = Buffer.alloc(FOOTER_BYTES)
    await file.read(footer, 0, FOOTER_BYTES, Math.max(0, size - FOOTER_BYTES))
    const [metaAt = 0, metaLength = 0, at = 0, length = 0] = fourNumbersIn(footer)
    const isThere = at + length + TRAILER_BYTES <= size - FOOTER_BYTES
    if (!footer.subarray(-TABLE_END.length).equals(TABLE_END) || !isThere)
      return 'it does not end as a table does'
    const index = await wholeBlock(file, size, { at, length })
    if (index === undefined) return 'its index'
    if (!deeply) return undefined
    // A damaged filter would hide entries from those who look them up by key.
    const filters = await wholeBlock(file, size, { at: metaAt, length: metaLength })
    if (filters === undefined) return 'the places of its filters'
    for (const place of [...placesIn(index), ...placesIn(filters)])
      if ((await wholeBlock(file, size, place)) === undefined)
        return `the ${place.length} bytes from ${place.at} on`
    return undefined
  } finally {
    await file.close()
  }
}

/** The content of a block; undefined where it has not its checksum. */
async function wholeBlock(
  file: FileHandle,
  size: number,
  { at, length }: BlockHandle,
): Promise<Buffer | undefined> {
  // The end of the table, which names two places, has no checksum.
  if (at + length + TRAILER_BYTES > size) return undefined
  const stored = Buffer.alloc(length + TRAILER_BYTES)
  const { bytesRead } = await file.read(stored, 0, stored.length, at)
  const isWhole =
    bytesRead === stored.length &&
    stored.readUInt32LE(length + 1) === storedSum(stored.subarray(0, length + 1))
  if (!isWhole) return undefined
  const content = stored.subarray(0, length)
  return stored.readUInt8(length) === COMPRESSED ? decompressed(content) : content
}

/** The places that an index has: entries of a shared length, two own lengths, a key and a place. */
function placesIn(index: Buffer): readonly BlockHandle[] {
  const restarts = index.readUInt32LE(index.length - 4)
  const end = index.length - 4 - restarts * 4
  const places: BlockHandle[] = []
  for (let from = 0; from < end;) {
    const shared = numberAt(index, from)
    const own = numberAt(index, shared.next)
    const value = numberAt(index, own.next)
    const at = numberAt(index, value.next + own.value)
    places.push({ at: at.value, length: numberAt(index, at.next).value })
    from = value.next + own.value + value.value
  }
  return places
}

/** Decodes Snappy (its `format_description.txt`): literals, and copies of earlier output. */
function decompressed(block: Buffer): Buffer {
  const { value: size, next } = numberAt(block, 0)
  const whole = Buffer.alloc(size)
  let done = 0
  for (let from = next; from < block.length;) {
    const tag = block.readUInt8(from)
    from += 1
    if ((tag & 3) === 0) {
      const bytes = (tag >> 2) - 59
      const length = bytes > 0 ? block.readUIntLE(from, bytes) + 1 : (tag >> 2) + 1
      from += Math.max(0, bytes)
      done += block.copy(whole, done, from, from + length)
      from += length
      continue
    }
    const [length, offset, bytes] = copyAt(block, tag, from)
    from += bytes
    // A copy may overlap the bytes that it writes.
    for (let n = 0; n < length; n += 1, done += 1) whole[done] = whole[done - offset] ?? 0
  }
  return whole
}

/** The length and the distance of a copy, and how many bytes say so behind its tag. */
function copyAt(block: Buffer, tag: number, from: number): readonly [number, number, number] {
  if ((tag & 3) === 1) return [((tag >> 2) & 7) + 4, ((tag >> 5) << 8) | block.readUInt8(from), 1]
  const bytes = (tag & 3) === 2 ? 2 : 4
  return [(tag >> 2) + 1, block.readUIntLE(from, bytes), bytes]
}
