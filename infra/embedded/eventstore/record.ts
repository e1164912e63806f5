/**
 * The stored form of an event: a fixed header followed by the complete gRPC frame of the `ReadResp`
 * message that serves it. A read copies bytes without serialising them.
 *
 * Header (24 bytes): position f64, revision f64, then four u16: offset and length of the stream
 * name, offset and length of the event type, both counted from the start of the value.
 */

import { readNumber, sizeOfField, sizeOfNumber, writeHead } from '../../../src/kernel/protobuf.ts'

const HEADER_BYTES = 24
const FRAME_PREFIX_BYTES = 5
const UUID_TEXT_BYTES = 36
const JSON_TYPE = Buffer.from('application/json')
const BINARY_TYPE = Buffer.from('application/octet-stream')
const KEY_TYPE = Buffer.from('type')
const KEY_CONTENT_TYPE = Buffer.from('content-type')
const KEY_CREATED = Buffer.from('created')

/** Parts of a record. `createdMs` is Unix time. */
interface RecordInput {
  readonly id: string
  readonly stream: Buffer
  readonly type: string
  readonly isJson: boolean
  readonly data: Uint8Array
  readonly metadata: Uint8Array
  readonly createdMs: number
  readonly revision: number
  readonly position: number
}

/** Encodes an event for storage. */
export function encodeRecord(input: RecordInput): Buffer {
  const type = Buffer.from(input.type)
  const contentType = input.isJson ? JSON_TYPE : BINARY_TYPE
  // .NET ticks since the Unix epoch, which is what clients divide back into milliseconds.
  const created = Buffer.from(`${input.createdMs}0000`)
  const entries = [
    [KEY_TYPE, type],
    [KEY_CONTENT_TYPE, contentType],
    [KEY_CREATED, created],
  ] as const

  const identifierBytes = sizeOfField(input.stream.length)
  let recordedBytes = 40 + sizeOfField(identifierBytes)
  recordedBytes += 1 + sizeOfNumber(input.revision) + 2 * (1 + sizeOfNumber(input.position))
  for (const [key, value] of entries) {
    recordedBytes += sizeOfField(sizeOfField(key.length) + sizeOfField(value.length))
  }
  recordedBytes += sizeOfField(input.metadata.length) + sizeOfField(input.data.length)
  const eventBytes = sizeOfField(recordedBytes) + 1 + sizeOfNumber(input.position)
  const messageBytes = sizeOfField(eventBytes)

  const value = Buffer.allocUnsafe(HEADER_BYTES + FRAME_PREFIX_BYTES + messageBytes)
  value.writeDoubleBE(input.position, 0)
  value.writeDoubleBE(input.revision, 8)
  value[HEADER_BYTES] = 0
  value.writeUInt32BE(messageBytes, HEADER_BYTES + 1)

  let at = HEADER_BYTES + FRAME_PREFIX_BYTES
  at = writeHead(value, at, 0x0a, eventBytes)
  at = writeHead(value, at, 0x0a, recordedBytes)
  at = writeHead(value, at, 0x0a, UUID_TEXT_BYTES + 2)
  at = writeHead(value, at, 0x12, UUID_TEXT_BYTES)
  at += value.write(input.id, at, UUID_TEXT_BYTES, 'latin1')
  at = writeHead(value, at, 0x12, identifierBytes)
  at = writeHead(value, at, 0x1a, input.stream.length)
  value.writeUInt16BE(at, 16)
  value.writeUInt16BE(input.stream.length, 18)
  at += input.stream.copy(value, at)
  at = writeHead(value, at, 0x18, input.revision)
  at = writeHead(value, at, 0x20, input.position)
  at = writeHead(value, at, 0x28, input.position)
  for (const [key, content] of entries) {
    at = writeHead(value, at, 0x32, sizeOfField(key.length) + sizeOfField(content.length))
    at = writeHead(value, at, 0x0a, key.length)
    at += key.copy(value, at)
    at = writeHead(value, at, 0x12, content.length)
    if (key === KEY_TYPE) {
      value.writeUInt16BE(at, 20)
      value.writeUInt16BE(content.length, 22)
    }
    at += content.copy(value, at)
  }
  at = writeHead(value, at, 0x3a, input.metadata.length)
  value.set(input.metadata, at)
  at += input.metadata.length
  at = writeHead(value, at, 0x42, input.data.length)
  value.set(input.data, at)
  at += input.data.length
  writeHead(value, at, 0x18, input.position)
  return value
}

/** Position in the log. */
export function recordPosition(record: Buffer): number {
  return record.readDoubleBE(0)
}

/** Revision in its stream. */
export function recordRevision(record: Buffer): number {
  return record.readDoubleBE(8)
}

/** Stream name, as a view into the record. */
export function recordStream(record: Buffer): Buffer {
  const at = record.readUInt16BE(16)
  return record.subarray(at, at + record.readUInt16BE(18))
}

/** Event type, as a view into the record. */
export function recordType(record: Buffer): Buffer {
  const at = record.readUInt16BE(20)
  return record.subarray(at, at + record.readUInt16BE(22))
}

/** Event id as lower-case text. */
export function recordId(record: Buffer): string {
  const at = idOffset(record)
  return record.toString('latin1', at, at + UUID_TEXT_BYTES)
}

/** The framed `ReadResp`, as a view into the record. */
export function recordFrame(record: Buffer): Buffer {
  return record.subarray(HEADER_BYTES)
}

/** The framed `ReadResp` with the id as two 64-bit integers, for clients that ask for that. */
export function recordFrameStructured(record: Buffer): Buffer {
  // The id field is the record's first and text ids have a fixed size; only it and the three
  // enclosing lengths change, so the message is rebuilt around its untouched remainder.
  const at = idOffset(record)
  const id = Buffer.from(
    record.toString('latin1', at, at + UUID_TEXT_BYTES).replaceAll('-', ''),
    'hex',
  )
  const rest = restOfRecorded(record, at + UUID_TEXT_BYTES)
  const structured = Buffer.concat([
    varintField(0x08, id.readBigInt64BE(0)),
    varintField(0x10, id.readBigInt64BE(8)),
  ])
  const recorded = Buffer.concat([field(0x0a, field(0x0a, structured)), rest.recorded])
  const message = field(0x0a, Buffer.concat([field(0x0a, recorded), rest.event]))
  const prefix = Buffer.alloc(FRAME_PREFIX_BYTES)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

function idOffset(record: Buffer): number {
  let at = HEADER_BYTES + FRAME_PREFIX_BYTES
  at = skipVarint(record, at + 1)
  at = skipVarint(record, at + 1)
  return at + 4
}

function restOfRecorded(record: Buffer, from: number): { recorded: Buffer; event: Buffer } {
  const recordedLengthAt = skipVarint(record, HEADER_BYTES + FRAME_PREFIX_BYTES + 1) + 1
  const recordedAt = skipVarint(record, recordedLengthAt)
  const end = recordedAt + readNumber({ bytes: record, at: recordedLengthAt, end: record.length })
  return { recorded: record.subarray(from, end), event: record.subarray(end) }
}

function skipVarint(source: Buffer, at: number): number {
  let next = at
  while (((source[next] ?? 0) & 0x80) !== 0) next += 1
  return next + 1
}

function field(tag: number, content: Buffer): Buffer {
  const head = Buffer.allocUnsafe(1 + sizeOfNumber(content.length))
  writeHead(head, 0, tag, content.length)
  return Buffer.concat([head, content])
}

function varintField(tag: number, value: bigint): Buffer {
  const bytes = [tag]
  let rest = BigInt.asUintN(64, value)
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}
