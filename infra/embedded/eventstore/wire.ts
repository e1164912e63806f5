/**
 * EventStoreDB's protocol as `@eventstore/db-client` ships it, and small translations.
 * The generated modules are CommonJS: their default import is the whole module.
 */

import type { ServiceDefinition } from '@grpc/grpc-js'
import gossipService from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import featuresService from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { readNumber } from './position.ts'
import type { ExpectedRevision } from './types.ts'

export const StreamsService: ServiceDefinition = streamsService.StreamsService
export const FeaturesService: ServiceDefinition = featuresService.ServerFeaturesService
export const GossipService: ServiceDefinition = gossipService.GossipService

const UUID_TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The id as lower-case text, or undefined if it is not an id. */
export function readUuid(uuid: shared.UUID | undefined): string | undefined {
  if (uuid === undefined) return undefined
  if (uuid.hasStructured()) {
    const structured = uuid.getStructured()
    if (structured === undefined) return undefined
    const high = toHex(structured.getMostSignificantBits())
    const low = toHex(structured.getLeastSignificantBits())
    return `${high.slice(0, 8)}-${high.slice(8, 12)}-${high.slice(12)}-${low.slice(0, 4)}-${low.slice(4)}`
  }
  const text = uuid.getString()
  return UUID_TEXT.test(text) ? text.toLowerCase() : undefined
}

function toHex(signed: string): string {
  return BigInt.asUintN(64, BigInt(signed)).toString(16).padStart(16, '0')
}

/** The stream name as text; the empty string if there is none. */
export function readStreamName(identifier: shared.StreamIdentifier | undefined): string {
  return identifier === undefined ? '' : Buffer.from(identifier.getStreamName_asU8()).toString()
}

/** A stream identifier message. */
export function streamIdentifier(stream: string): shared.StreamIdentifier {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
}

/** Options of append, delete and tombstone requests all name the revision the same way. */
interface RevisionOptions {
  hasRevision(): boolean
  getRevision(): string
  hasNoStream(): boolean
  hasAny(): boolean
  hasStreamExists(): boolean
}

/** The expected revision of a request, or undefined if it names none. */
export function readExpected(options: RevisionOptions): ExpectedRevision | undefined {
  if (options.hasRevision()) return exactRevision(options.getRevision())
  if (options.hasNoStream()) return { kind: 'no_stream' }
  if (options.hasStreamExists()) return { kind: 'stream_exists' }
  if (options.hasAny()) return { kind: 'any' }
  return undefined
}

/** An expected revision that names a number. */
export function exactRevision(text: string): ExpectedRevision {
  return { kind: 'revision', revision: readNumber(text), text }
}
