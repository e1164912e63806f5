import type * as shared from '@eventstore/db-client/generated/shared_pb.js'
import sharedPb from '@eventstore/db-client/generated/shared_pb.js'
import type * as streams from '@eventstore/db-client/generated/streams_pb.js'
import streamsPb from '@eventstore/db-client/generated/streams_pb.js'
import type { EncodedEvent, WireEvent } from './codec.ts'
import type { ExpectedRevision } from './types.ts'

/**
 * Requests and answers of the log's own protocol. We build them ourselves because the client
 * library offers no filter on reads of `$all`, delivers checkpoints ahead of the events they
 * follow, and serialises an append anew for each try.
 */
export type AppendRequest = streams.AppendReq
export type ReadRequest = streams.ReadReq
export type ReadResponse = streams.ReadResp
export type AppendResponse = streams.AppendResp

const { AppendReq, ReadReq } = streamsPb

/** Considered events between two checkpoints: window × interval. */
const SEARCH_WINDOW = 256
const CHECKPOINT_INTERVAL = 4
const { FORWARDS, BACKWARDS } = ReadReq.Options.ReadDirection
/** Ticks are 100 ns. */
const TICKS_PER_MS = 10_000

function streamIdentifier(name: string): shared.StreamIdentifier {
  const identifier = new sharedPb.StreamIdentifier()
  identifier.setStreamName(Buffer.from(name))
  return identifier
}

/** The messages of one append: the header, then one per event. */
export function appendRequests(
  stream: string,
  events: readonly EncodedEvent[],
  expected: ExpectedRevision,
): readonly AppendRequest[] {
  const options = new AppendReq.Options()
  options.setStreamIdentifier(streamIdentifier(stream))
  if (expected === 'any') options.setAny(new sharedPb.Empty())
  else if (expected === 'no_stream') options.setNoStream(new sharedPb.Empty())
  else if (expected === 'stream_exists') options.setStreamExists(new sharedPb.Empty())
  else options.setRevision(expected.toString(10))
  const header = new AppendReq()
  header.setOptions(options)
  return [header, ...events.map(proposal)]
}

function proposal(event: EncodedEvent): AppendRequest {
  const id = new sharedPb.UUID()
  id.setString(event.id)
  const message = new AppendReq.ProposedMessage()
  message.setId(id)
  message.getMetadataMap().set('type', event.type).set('content-type', 'application/json')
  message.setCustomMetadata(event.metadata)
  message.setData(event.data)
  const request = new AppendReq()
  request.setProposedMessage(message)
  return request
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

function namespaceFilter(namespace: string): streams.ReadReq.Options.FilterOptions {
  const expression = new ReadReq.Options.FilterOptions.Expression()
  if (namespace === '') expression.setRegex('^[^$].*')
  else expression.setPrefixList([namespace])
  const filter = new ReadReq.Options.FilterOptions()
  filter.setStreamIdentifier(expression)
  filter.setMax(SEARCH_WINDOW)
  filter.setCheckpointintervalmultiplier(CHECKPOINT_INTERVAL)
  return filter
}

function allOptions(from: bigint | 'start' | 'end'): streams.ReadReq.Options.AllOptions {
  const all = new ReadReq.Options.AllOptions()
  if (from === 'start') all.setStart(new sharedPb.Empty())
  else if (from === 'end') all.setEnd(new sharedPb.Empty())
  else {
    const position = new ReadReq.Options.Position()
    position.setCommitPosition(from.toString(10))
    position.setPreparePosition(from.toString(10))
    all.setPosition(position)
  }
  return all
}

/** `$all` of a namespace forwards; the event at `from` itself is included. */
export function readAllRequest(
  namespace: string,
  from: bigint | undefined,
  maxCount: number,
): ReadRequest {
  const options = readOptions()
  options.setAll(allOptions(from ?? 'start'))
  options.setReadDirection(FORWARDS)
  options.setCount(String(maxCount))
  options.setFilter(namespaceFilter(namespace))
  return readRequest(options)
}

/** The last event of a namespace. */
export function readLastRequest(namespace: string): ReadRequest {
  const options = readOptions()
  options.setAll(allOptions('end'))
  options.setReadDirection(BACKWARDS)
  options.setCount('1')
  options.setFilter(namespaceFilter(namespace))
  return readRequest(options)
}

/** Live `$all` of a namespace, exclusive of `from`. */
export function subscribeRequest(namespace: string, from: bigint | undefined): ReadRequest {
  const options = readOptions()
  options.setAll(allOptions(from ?? 'start'))
  options.setSubscription(new ReadReq.Options.SubscriptionOptions())
  options.setFilter(namespaceFilter(namespace))
  return readRequest(options)
}

/** The event of an answer, its stream name without the namespace; undefined for other answers. */
export function eventOf(response: ReadResponse, namespace: string): WireEvent | undefined {
  const recorded = response.getEvent()?.getEvent()
  if (recorded === undefined) return undefined
  const map = recorded.getMetadataMap()
  const name = Buffer.from(recorded.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString()
  return {
    id: recorded.getId()?.getString() ?? '',
    type: map.get('type') ?? '',
    data: recorded.getData_asU8(),
    metadata: recorded.getCustomMetadata_asU8(),
    stream: name.slice(namespace.length),
    revision: BigInt(recorded.getStreamRevision()),
    position: BigInt(recorded.getCommitPosition()),
    recordedAt: new Date(Math.floor(Number(map.get('created') ?? 0) / TICKS_PER_MS)),
  }
}
