/**
 * `ReadReq` parsed once into what a reader does.
 */

import streams from '@eventstore/db-client/generated/streams_pb.js'
import { invalidArgument } from './errors.ts'
import { type Filter, readFilter } from './filter.ts'
import { checkStreamName } from './proposals.ts'
import { readNumber, readStreamName } from './wire.ts'

/** Where to begin. In a stream numbers are revisions, in `$all` positions. */
export type Start =
  | { readonly kind: 'start' }
  | { readonly kind: 'end' }
  | { readonly kind: 'at'; readonly number: number }

/** A read or subscription. */
export interface ReadRequest {
  /** Undefined reads `$all`. */
  readonly stream: string | undefined
  readonly start: Start
  readonly backwards: boolean
  readonly filter: Filter | undefined
  /** Undefined subscribes. */
  readonly count: number | undefined
  /** Ids as two integers instead of text. */
  readonly structuredIds: boolean
}

/** @throws {WireError} INVALID_ARGUMENT */
export function parseReadRequest(request: streams.ReadReq): ReadRequest {
  const options = request.getOptions()
  if (options === undefined) throw invalidArgument('the read has no options')
  const common = {
    backwards: options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS,
    count: options.hasSubscription() ? undefined : readCount(options),
    structuredIds: options.getUuidOption()?.hasStructured() ?? false,
  }
  if (common.count === undefined && common.backwards) {
    throw invalidArgument('a subscription goes forwards')
  }
  const stream = options.getStream()
  if (stream !== undefined) {
    const name = checkStreamName(readStreamName(stream.getStreamIdentifier()))
    return { ...common, stream: name, start: streamStart(stream), filter: undefined }
  }
  const all = options.getAll()
  if (all === undefined) throw invalidArgument('the read names neither a stream nor $all')
  return { ...common, stream: undefined, start: allStart(all), filter: readFilter(options) }
}

function readCount(options: streams.ReadReq.Options): number {
  if (!options.hasCount()) throw invalidArgument('the read names neither count nor subscription')
  return readNumber(options.getCount())
}

function streamStart(options: streams.ReadReq.Options.StreamOptions): Start {
  if (options.hasRevision()) return { kind: 'at', number: readNumber(options.getRevision()) }
  return options.hasEnd() ? { kind: 'end' } : { kind: 'start' }
}

function allStart(options: streams.ReadReq.Options.AllOptions): Start {
  const position = options.getPosition()
  if (position !== undefined) {
    return { kind: 'at', number: readNumber(position.getCommitPosition()) }
  }
  return options.hasEnd() ? { kind: 'end' } : { kind: 'start' }
}
