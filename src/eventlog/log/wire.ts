import type * as shared from '@eventstore/db-client/generated/shared_pb.js'
import sharedPb from '@eventstore/db-client/generated/shared_pb.js'
import type * as streams from '@eventstore/db-client/generated/streams_pb.js'
import streamsPb from '@eventstore/db-client/generated/streams_pb.js'
import type { LogPosition } from './position.ts'

/**
 * Reads in the log's protocol. The gateway builds these messages itself, because the client library
 * has no filter on reads of `$all` and delivers checkpoints ahead of the events before them.
 */
export type ReadRequest = streams.ReadReq

const { ReadReq } = streamsPb

/** The number of checked events between two checkpoints is window × interval. */
const SEARCH_WINDOW = 256
const CHECKPOINT_INTERVAL = 4
const { FORWARDS, BACKWARDS } = ReadReq.Options.ReadDirection

/** A stream name as the protocol carries it. */
export function streamIdentifier(name: string): shared.StreamIdentifier {
  const identifier = new sharedPb.StreamIdentifier()
  identifier.setStreamName(Buffer.from(name))
  return identifier
}

function readOptions(): streams.ReadReq.Options {
  const options = new ReadReq.Options()
  const uuid = new ReadReq.Options.UUIDOption()
  uuid.setString(new sharedPb.Empty())
  options.setUuidOption(uuid)
  options.setResolveLinks(false)
  return options
}

function readRequest(options: streams.ReadReq.Options): ReadRequest {
  const request = new ReadReq()
  request.setOptions(options)
  return request
}

/** A page of one stream, from a revision on. */
export function readStreamRequest(stream: string, from: bigint, maxCount: number): ReadRequest {
  const options = readOptions()
  const target = new ReadReq.Options.StreamOptions()
  target.setStreamIdentifier(streamIdentifier(stream))
  target.setRevision(from.toString(10))
  options.setStream(target)
  options.setReadDirection(FORWARDS)
  options.setCount(String(maxCount))
  options.setNoFilter(new sharedPb.Empty())
  return readRequest(options)
}

function prefixFilter(prefixes: readonly string[]): streams.ReadReq.Options.FilterOptions {
  const expression = new ReadReq.Options.FilterOptions.Expression()
  expression.setPrefixList([...prefixes])
  const filter = new ReadReq.Options.FilterOptions()
  filter.setStreamIdentifier(expression)
  filter.setMax(SEARCH_WINDOW)
  filter.setCheckpointintervalmultiplier(CHECKPOINT_INTERVAL)
  return filter
}

function allOptions(from: LogPosition | 'start' | 'end'): streams.ReadReq.Options.AllOptions {
  const all = new ReadReq.Options.AllOptions()
  if (from === 'start') all.setStart(new sharedPb.Empty())
  else if (from === 'end') all.setEnd(new sharedPb.Empty())
  else {
    const position = new ReadReq.Options.Position()
    position.setCommitPosition(from.commit.toString(10))
    position.setPreparePosition(from.prepare.toString(10))
    all.setPosition(position)
  }
  return all
}

/** `$all` of streams with these prefixes, forwards; the event at `from` itself is included. */
export function readAllRequest(
  prefixes: readonly string[],
  from: LogPosition | undefined,
  maxCount: number,
): ReadRequest {
  const options = readOptions()
  options.setAll(allOptions(from ?? 'start'))
  options.setReadDirection(FORWARDS)
  options.setCount(String(maxCount))
  options.setFilter(prefixFilter(prefixes))
  return readRequest(options)
}

/**
 * The last event of streams with these prefixes. The server searches through the events behind it.
 */
export function readLastRequest(prefixes: readonly string[]): ReadRequest {
  const options = readOptions()
  options.setAll(allOptions('end'))
  options.setReadDirection(BACKWARDS)
  options.setCount('1')
  options.setFilter(prefixFilter(prefixes))
  return readRequest(options)
}

/** The last event of all, of any namespace; the server finds it immediately. */
export function readTipRequest(): ReadRequest {
  const options = readOptions()
  options.setAll(allOptions('end'))
  options.setReadDirection(BACKWARDS)
  options.setCount('1')
  options.setNoFilter(new sharedPb.Empty())
  return readRequest(options)
}

/** Live `$all` of streams with these prefixes, exclusive of `from`. */
export function subscribeRequest(
  prefixes: readonly string[],
  from: LogPosition | undefined,
): ReadRequest {
  const options = readOptions()
  options.setAll(allOptions(from ?? 'start'))
  options.setSubscription(new ReadReq.Options.SubscriptionOptions())
  options.setFilter(prefixFilter(prefixes))
  return readRequest(options)
}
