/**
 * Protobuf's wire format, as far as reading and writing events needs it. The generated classes
 * build nested objects for every message; at thousands of events a second, that costs more than all
 * other work on an event.
 */

/** A place in a message. Fields are read one after the other. */
export interface Cursor {
  readonly bytes: Buffer
  at: number
  readonly end: number
}

/** The wire types: they say what follows a key. */
const VARINT = 0
const FIXED64 = 1
const DELIMITED = 2
const FIXED32 = 5

/** A cursor over a whole message. */
export function cursorOver(bytes: Buffer): Cursor {
  return { bytes, at: 0, end: bytes.length }
}

/** Whether a field is left. */
export function hasMore(cursor: Cursor): boolean {
  return cursor.at < cursor.end
}

function byteAt(cursor: Cursor): number {
  const byte = cursor.at < cursor.end ? cursor.bytes[cursor.at] : undefined
  if (byte === undefined) throw new RangeError('a message ends too early')
  cursor.at += 1
  return byte
}

/** An unsigned number below 2⁵³: keys, lengths. */
export function readNumber(cursor: Cursor): number {
  let byte = byteAt(cursor)
  if (byte < 0x80) return byte
  let value = byte & 0x7f
  for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
    byte = byteAt(cursor)
    value += (byte & 0x7f) * scale
  }
  if (value > Number.MAX_SAFE_INTEGER) throw new RangeError('a length in a message is too large')
  return value
}

/** Seven groups of seven bits are a safe integer. */
const SAFE_GROUPS = 7

/** An unsigned number of 64 bits. */
export function readBigint(cursor: Cursor): bigint {
  let value = 0
  let scale = 1
  for (let group = 0; group < SAFE_GROUPS; group += 1) {
    const byte = byteAt(cursor)
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return BigInt(value)
    scale *= 0x80
  }
  let large = BigInt(value)
  for (let shift = 49n; shift < 70n; shift += 7n) {
    const byte = byteAt(cursor)
    large |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return BigInt.asUintN(64, large)
  }
  throw new RangeError('a number in a message is too long')
}

/** The bytes of a delimited field, as a view. */
export function readBytes(cursor: Cursor): Buffer {
  const length = readNumber(cursor)
  const from = cursor.at
  if (from + length > cursor.end) throw new RangeError('a message ends too early')
  cursor.at = from + length
  return cursor.bytes.subarray(from, cursor.at)
}

/** A cursor over a delimited field. */
export function readMessage(cursor: Cursor): Cursor {
  const length = readNumber(cursor)
  const at = cursor.at
  const end = at + length
  if (end > cursor.end) throw new RangeError('a message ends too early')
  cursor.at = end
  return { bytes: cursor.bytes, at, end }
}

/** The text of a delimited field. */
export function readText(cursor: Cursor): string {
  const length = readNumber(cursor)
  const from = cursor.at
  if (from + length > cursor.end) throw new RangeError('a message ends too early')
  cursor.at = from + length
  return cursor.bytes.toString('utf8', from, cursor.at)
}

/** Passes over a field that is not known, by the key that was read. */
export function skipField(cursor: Cursor, key: number): void {
  switch (key & 7) {
    case VARINT:
      while (byteAt(cursor) >= 0x80);
      return
    case FIXED64:
      return passOver(cursor, 8)
    case DELIMITED:
      return passOver(cursor, readNumber(cursor))
    case FIXED32:
      return passOver(cursor, 4)
    default:
      throw new RangeError('a message has a field of an unknown kind')
  }
}

/** The value of the field with this key, in a message of which nothing else is wanted; undefined when it has none. */
export function readField<Value>(
  cursor: Cursor,
  field: number,
  read: (cursor: Cursor) => Value,
): Value | undefined {
  let value: Value | undefined
  while (hasMore(cursor)) {
    const key = readNumber(cursor)
    if (key === field) value = read(cursor)
    else skipField(cursor, key)
  }
  return value
}

function passOver(cursor: Cursor, length: number): void {
  cursor.at += length
  if (cursor.at > cursor.end) throw new RangeError('a message ends too early')
}

/** The key of a delimited field. */
export function delimited(field: number): number {
  return (field << 3) | DELIMITED
}

/** The key of a number. */
export function varint(field: number): number {
  return field << 3
}

/** Number of bytes of an encoded number. */
export function sizeOfNumber(value: number): number {
  let size = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1
  return size
}

/** An unsigned number of 64 bits, as a message has it. */
export function numberBytes(value: bigint): readonly number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest > BigInt(Number.MAX_SAFE_INTEGER); rest >>= 7n)
    bytes.push(Number(rest & 0x7fn) | 0x80)
  let small = Number(rest)
  for (; small >= 0x80; small = Math.floor(small / 0x80)) bytes.push((small % 0x80) | 0x80)
  bytes.push(small)
  return bytes
}

/** Number of bytes of a delimited field whose key is one byte. */
export function sizeOfField(length: number): number {
  return 1 + sizeOfNumber(length) + length
}

/** Writes a key of one byte and a length; returns where the content begins. */
export function writeHead(target: Buffer, at: number, key: number, length: number): number {
  target[at] = key
  let next = at + 1
  let rest = length
  while (rest >= 0x80) {
    target[next] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
    next += 1
  }
  target[next] = rest
  return next + 1
}
