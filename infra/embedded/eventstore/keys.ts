/**
 * Keys of the database. Numbers are unsigned 64-bit big-endian, so key order is numeric order.
 *
 * - `e <position>` → record (see record.ts)
 * - `s <name length> <name> <revision>` → position and record size
 * - `h <name>` → head of a stream
 * - `m…` → facts about the database itself
 */

const EVENT = 0x65
const STREAM = 0x73
const HEAD = 0x68
const TWO_POW_32 = 2 ** 32

/** Where the format version is kept. */
export const FORMAT_KEY = Buffer.from('mformat')

/** Key of the event at a log position. */
export function eventKey(position: number): Buffer {
  const key = Buffer.allocUnsafe(9)
  key[0] = EVENT
  writeUint64(key, position, 1)
  return key
}

/** Position an event key names. */
export function decodeEventKey(key: Buffer): number {
  return readUint64(key, 1)
}

/** Key of a stream's event at a revision. */
export function streamKey(name: Buffer, revision: number): Buffer {
  const key = Buffer.allocUnsafe(3 + name.length + 8)
  key[0] = STREAM
  key.writeUInt16BE(name.length, 1)
  name.copy(key, 3)
  writeUint64(key, revision, 3 + name.length)
  return key
}

/** Key of a stream's head. */
export function headKey(name: Buffer): Buffer {
  const key = Buffer.allocUnsafe(1 + name.length)
  key[0] = HEAD
  name.copy(key, 1)
  return key
}

/** Value under a stream key: where the event is and how large its record is. */
interface StreamEntry {
  readonly position: number
  readonly sizeBytes: number
}

export function encodeStreamEntry(entry: StreamEntry): Buffer {
  const value = Buffer.allocUnsafe(12)
  writeUint64(value, entry.position, 0)
  value.writeUInt32BE(entry.sizeBytes, 8)
  return value
}

export function decodeStreamEntry(value: Buffer): StreamEntry {
  return { position: readUint64(value, 0), sizeBytes: value.readUInt32BE(8) }
}

function writeUint64(target: Buffer, value: number, offset: number): void {
  target.writeUInt32BE(Math.floor(value / TWO_POW_32), offset)
  target.writeUInt32BE(value >>> 0, offset + 4)
}

function readUint64(source: Buffer, offset: number): number {
  return source.readUInt32BE(offset) * TWO_POW_32 + source.readUInt32BE(offset + 4)
}
