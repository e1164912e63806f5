/**
 * A request of `BatchAppend` as received. Its events are read directly from the bytes: a message
 * object for each event, with a map of its properties, would cost more than storing the event.
 */

import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import {
  type Cursor,
  cursorOver,
  hasMore,
  readBytes,
  readMessage,
  readNumber,
  readText,
  skipField,
} from '../../../src/kernel/protobuf.ts'
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

export interface BatchRequest {
  /** All but the events. */
  readonly head: streams.BatchAppendReq
  readonly proposed: readonly ProposedMessage[]
}

/** @throws RangeError when it is no message */
export function readBatchRequest(bytes: Buffer): BatchRequest {
  const reader = cursorOver(bytes)
  const head: Buffer[] = []
  const proposed: ProposedMessage[] = []
  while (hasMore(reader)) {
    const from = reader.at
    const key = readNumber(reader)
    if (key === PROPOSED) {
      proposed.push(readProposed(readMessage(reader)))
      continue
    }
    skipField(reader, key)
    head.push(bytes.subarray(from, reader.at))
  }
  return { head: streams.BatchAppendReq.deserializeBinary(Buffer.concat(head)), proposed }
}

function readProposed(reader: Cursor): ProposedMessage {
  const properties = new Map<string, string>()
  let id: string | undefined
  let metadata: Buffer = NO_BYTES
  let data: Buffer = NO_BYTES
  while (hasMore(reader)) {
    const key = readNumber(reader)
    if (key === FIRST) id = readUuid(shared.UUID.deserializeBinary(readBytes(reader)))
    else if (key === SECOND) readProperty(readMessage(reader), properties)
    else if (key === THIRD) metadata = readBytes(reader)
    else if (key === FOURTH) data = readBytes(reader)
    else skipField(reader, key)
  }
  return {
    id,
    type: properties.get('type'),
    contentType: properties.get('content-type'),
    data,
    metadata,
  }
}

function readProperty(reader: Cursor, properties: Map<string, string>): void {
  let name = ''
  let value = ''
  while (hasMore(reader)) {
    const key = readNumber(reader)
    if (key === FIRST) name = readText(reader)
    else if (key === SECOND) value = readText(reader)
    else skipField(reader, key)
  }
  properties.set(name, value)
}
