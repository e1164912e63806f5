/**
 * Reading proposed events out of append requests.
 */

import type shared from '@eventstore/db-client/generated/shared_pb.js'
import { invalidArgument, maximumAppendSizeExceeded, metadataPropertyMissing } from './errors.ts'
import { MAX_APPEND_BYTES, MAX_APPEND_EVENTS, MAX_NAME_BYTES } from './limits.ts'
import type { ProposedEvent } from './types.ts'
import { readUuid } from './wire.ts'

/** What both kinds of append request carry per event. */
interface ProposedMessage {
  getId(): shared.UUID | undefined
  getMetadataMap(): { get(key: string): string | undefined }
  getCustomMetadata_asU8(): Uint8Array
  getData_asU8(): Uint8Array
}

/** Collects the events of one append within its size bound. */
export class Proposal {
  readonly events: ProposedEvent[] = []
  sizeBytes = 0

  /** @throws {WireError} for an event that cannot be accepted */
  add(message: ProposedMessage): void {
    const id = readUuid(message.getId())
    if (id === undefined) throw invalidArgument('an event id is not a UUID')
    const properties = message.getMetadataMap()
    const type = properties.get('type')
    if (type === undefined || type === '') throw metadataPropertyMissing('type')
    const contentType = properties.get('content-type')
    if (contentType === undefined) throw metadataPropertyMissing('content-type')
    const typeBytes = Buffer.byteLength(type)
    if (typeBytes > MAX_NAME_BYTES) throw invalidArgument('an event type is too long')
    const data = message.getData_asU8()
    const metadata = message.getCustomMetadata_asU8()
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
