/**
 * A request of `BatchAppend` as it came. Its events are read out of the bytes: a message object for
 * each of them, with a map of its properties, would cost more than storing it.
 */

import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ProposedMessage } from './proposals.ts'
import { readUuid } from './wire.ts'

/** Keys of delimited fields: number and kind. */
const FIRST = 0x0a
const SECOND = 0x12
const THIRD = 0x1a
const FOURTH = 0x22
/** `proposed_messages` of the request. */
const PROPOSED = THIRD
const NO_BYTES = Buffer.alloc(0)

/** Bytes that are read from the front. */
interface Reader {
  readonly bytes: Buffer
  at: number
}

export interface BatchRequest {
  /** All but the events. */
  readonly head: streams.BatchAppendReq
  readonly proposed: readonly ProposedMessage[]
}

/** @throws RangeError when it is no message */
export function readBatchRequest(bytes: Buffer): BatchRequest {
  const reader: Reader = { bytes, at: 0 }
  const head: Buffer[] = []
  const proposed: ProposedMessage[] = []
  while (reader.at < bytes.length) {
    const from = reader.at
    const key = readNumber(reader)
    if (key === PROPOSED) {
      proposed.push(readProposed(readBytes(reader)))
      continue
    }
    skip(reader, key)
    head.push(bytes.subarray(from, reader.at))
  }
  return { head: streams.BatchAppendReq.deserializeBinary(Buffer.concat(head)), proposed }
}

function readProposed(bytes: Buffer): ProposedMessage {
  const reader: Reader = { bytes, at: 0 }
  const properties = new Map<string, string>()
  let id: string | undefined
  let metadata: Buffer = NO_BYTES
  let data: Buffer = NO_BYTES
  while (reader.at < bytes.length) {
    const key = readNumber(reader)
    if (key === FIRST) id = readUuid(shared.UUID.deserializeBinary(readBytes(reader)))
    else if (key === SECOND) readProperty(readBytes(reader), properties)
    else if (key === THIRD) metadata = readBytes(reader)
    else if (key === FOURTH) data = readBytes(reader)
    else skip(reader, key)
  }
  return {
    id,
    type: properties.get('type'),
    contentType: properties.get('content-type'),
    data,
    metadata,
  }
}

function readProperty(bytes: Buffer, properties: Map<string, string>): void {
  const reader: Reader = { bytes, at: 0 }
  let name = ''
  let value = ''
  while (reader.at < bytes.length) {
    const key = readNumber(reader)
    if (key === FIRST) name = readBytes(reader).toString()
    else if (key === SECOND) value = readBytes(reader).toString()
    else skip(reader, key)
  }
  properties.set(name, value)
}

function tooShort(): RangeError {
  return new RangeError('the message ends too early')
}

function readNumber(reader: Reader): number {
  let value = 0
  for (let scale = 1; ; scale *= 0x80) {
    const byte = reader.bytes[reader.at]
    if (byte === undefined) throw tooShort()
    reader.at += 1
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return value
  }
}

function readBytes(reader: Reader): Buffer {
  const length = readNumber(reader)
  const from = reader.at
  if (from + length > reader.bytes.length) throw tooShort()
  reader.at = from + length
  return reader.bytes.subarray(from, reader.at)
}

/** Passes over a field by its kind: a number, eight bytes, a length and so many bytes, four bytes. */
function skip(reader: Reader, key: number): void {
  const kind = key % 8
  if (kind === 0) readNumber(reader)
  else if (kind === 1) reader.at += 8
  else if (kind === 2) readBytes(reader)
  else if (kind === 5) reader.at += 4
  else throw new RangeError('the message has a field of an unknown kind')
  if (reader.at > reader.bytes.length) throw tooShort()
}
