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

/** Key of the format version. */
export const FORMAT_KEY = Buffer.from('mformat')
/** Up to which key a conversion that is under way has come. */
export const CONVERTED_KEY = Buffer.from('mconverted')
/** The facts are between these keys; they have no checksums. */
export const FACTS_BEGIN = Buffer.from('m')
export const FACTS_END = Buffer.from('n')

/** The keys of events, heads and places in streams: everything but the facts. */
export const entryRanges: readonly (readonly [first: Buffer, last: Buffer])[] = [
  [Buffer.from([EVENT]), FACTS_BEGIN],
  [FACTS_END, Buffer.from([0xff])],
]

export function isEventKey(key: Buffer): boolean {
  return key[0] === EVENT
}

export function isStreamKey(key: Buffer): boolean {
  return key[0] === STREAM
}

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

/** The revision that a stream key names. */
export function decodeStreamRevision(key: Buffer): number {
  return readUint64(key, key.length - 8)
}

/** Names the entry of a key in words for people. */
export function describeKey(key: Buffer): string {
  if (isEventKey(key)) return `event ${decodeEventKey(key)}`
  if (key[0] === HEAD) return `the head of stream ${key.toString('utf8', 1)}`
  if (!isStreamKey(key)) return `the entry ${key.toString('hex')}`
  const stream = key.toString('utf8', 3, key.length - 8)
  return `the place of event ${decodeStreamRevision(key)} of stream ${stream}`
}

function writeUint64(target: Buffer, value: number, offset: number): void {
  target.writeUInt32BE(Math.floor(value / TWO_POW_32), offset)
  target.writeUInt32BE(value >>> 0, offset + 4)
}

function readUint64(source: Buffer, offset: number): number {
  return source.readUInt32BE(offset) * TWO_POW_32 + source.readUInt32BE(offset + 4)
}
