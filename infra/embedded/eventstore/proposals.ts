/**
 * Reading proposed events out of append requests.
 */

import type streams from '@eventstore/db-client/generated/streams_pb.js'
import { invalidArgument, maximumAppendSizeExceeded, metadataPropertyMissing } from './errors.ts'
import { MAX_APPEND_BYTES, MAX_APPEND_EVENTS, MAX_NAME_BYTES } from './limits.ts'
import type { ProposedEvent } from './types.ts'
import { readUuid } from './wire.ts'

/** A proposed event of a request; an undefined member was not sent, or cannot be read. */
export interface ProposedMessage {
  readonly id: string | undefined
  readonly type: string | undefined
  readonly contentType: string | undefined
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}

/** The event of a `ProposedMessage`. */
export function proposedIn(message: streams.AppendReq.ProposedMessage): ProposedMessage {
  const properties = message.getMetadataMap()
  return {
    id: readUuid(message.getId()),
    type: properties.get('type'),
    contentType: properties.get('content-type'),
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  }
}

/** Collects the events of one append within its size bound. */
export class Proposal {
  readonly events: ProposedEvent[] = []
  sizeBytes = 0

  /** @throws {WireError} for an event that cannot be accepted */
  add({ id, type, contentType, data, metadata }: ProposedMessage): void {
    if (id === undefined) throw invalidArgument('an event id is not a UUID')
    if (type === undefined || type === '') throw metadataPropertyMissing('type')
    if (contentType === undefined) throw metadataPropertyMissing('content-type')
    const typeBytes = Buffer.byteLength(type)
    if (typeBytes > MAX_NAME_BYTES) throw invalidArgument('an event type is too long')
    this.sizeBytes += data.length + metadata.length + typeBytes
    if (this.sizeBytes > MAX_APPEND_BYTES) throw maximumAppendSizeExceeded()
    if (this.events.length >= MAX_APPEND_EVENTS) throw invalidArgument('too many events at once')
    const isJson = contentType === 'application/json'
    this.events.push({ id, type, isJson, data, metadata })
  }
}

/** @throws {WireError} for a name that no stream can have */
export function checkStreamName(stream: string): string {
  if (stream === '') throw invalidArgument('the request names no stream')
  if (Buffer.byteLength(stream) > MAX_NAME_BYTES)
    throw invalidArgument('the stream name is too long')
  return stream
}
