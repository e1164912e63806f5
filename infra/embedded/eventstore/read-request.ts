/** Parses `ReadReq` once into the instructions for a reader. */

import streams from '@eventstore/db-client/generated/streams_pb.js'
import { invalidArgument } from './errors.ts'
import { type Filter, readFilter } from './filter.ts'
import { isWireEnd, type LogPosition, readNumber, readPosition } from './position.ts'
import { checkStreamName } from './proposals.ts'
import { readStreamName } from './wire.ts'

/** Start: a revision of a stream, or a position of `$all`. */
export type Start<At> =
  | { readonly kind: 'start' }
  | { readonly kind: 'end' }
  | { readonly kind: 'at'; readonly at: At }

interface Common {
  readonly backwards: boolean
  /** Undefined subscribes. */
  readonly count: number | undefined
  /** Ids as two integers instead of text. */
  readonly structuredIds: boolean
}

/** A read of, or subscription to, one stream. */
export type StreamRequest = Common & {
  readonly target: 'stream'
  readonly stream: string
  readonly start: Start<number>
}

/** A read of, or subscription to, `$all`. */
export type AllRequest = Common & {
  readonly target: 'all'
  readonly start: Start<LogPosition>
  readonly filter: Filter | undefined
}

/** A read or subscription. */
export type ReadRequest = StreamRequest | AllRequest

/** @throws {WireError} INVALID_ARGUMENT, UNKNOWN */
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
    return { ...common, target: 'stream', stream: name, start: streamStart(stream) }
  }
  const all = options.getAll()
  if (all === undefined) throw invalidArgument('the read names neither a stream nor $all')
  return { ...common, target: 'all', start: allStart(all), filter: readFilter(options) }
}

function readCount(options: streams.ReadReq.Options): number {
  if (!options.hasCount()) throw invalidArgument('the read names neither count nor subscription')
  return readNumber(options.getCount())
}

function streamStart(options: streams.ReadReq.Options.StreamOptions): Start<number> {
  if (options.hasRevision() && !isWireEnd(options.getRevision())) {
    return { kind: 'at', at: readNumber(options.getRevision()) }
  }
  return options.hasEnd() || options.hasRevision() ? { kind: 'end' } : { kind: 'start' }
}

function allStart(options: streams.ReadReq.Options.AllOptions): Start<LogPosition> {
  const position = options.getPosition()
  if (position !== undefined) {
    const at = readPosition(position.getCommitPosition(), position.getPreparePosition())
    return at === 'end' ? { kind: 'end' } : { kind: 'at', at }
  }
  return options.hasEnd() ? { kind: 'end' } : { kind: 'start' }
}
