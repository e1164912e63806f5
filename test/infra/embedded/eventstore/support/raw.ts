import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
} from '@grpc/grpc-js'
import emptyPb from 'google-protobuf/google/protobuf/empty_pb.js'
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { eventually } from '../../../../helpers/eventually.ts'

const READ = '/event_store.client.streams.Streams/Read'
const identity = (bytes: Buffer): Buffer => bytes

/** A position of `$all`: commit and prepare, as text because they may be 2^64-1. */
export type Pair = readonly [commit: string, prepare: string]

export interface FollowOptions {
  readonly from?: Pair | 'start' | 'end'
  /** Only streams whose names begin with this. */
  readonly prefix?: string
  readonly window?: number
  readonly interval?: number
}

/**
 * What a subscription received so far: `e5` an event, `c5/0` a checkpoint, `live`, `!10` an end.
 */
export interface Followed {
  readonly said: readonly string[]
  readonly call: ClientReadableStream<streams.ReadResp>
  /** Waits for this to be the whole of what was said, or for the test to fail. */
  readonly says: (t: Test, ...expected: readonly string[]) => Promise<void>
  /** Waits until this was said. */
  readonly hears: (word: string) => Promise<void>
}

/** `$all` as a request names it. */
function allFrom(from: Pair | 'start' | 'end'): streams.ReadReq.Options {
  const all = new streams.ReadReq.Options.AllOptions()
  if (from === 'start') all.setStart(new shared.Empty())
  else if (from === 'end') all.setEnd(new shared.Empty())
  else {
    const position = new streams.ReadReq.Options.Position()
    all.setPosition(position.setCommitPosition(from[0]).setPreparePosition(from[1]))
  }
  return new streams.ReadReq.Options().setAll(all)
}

/** A separate connection, closed with the test. */
export function rawClient(t: Test, address: string): Client {
  const client = new Client(address, credentials.createInsecure())
  t.teardown(() => client.close())
  return client
}

/** Opens a read or subscription; `metadata` travels with it. */
function openRead(
  client: Client,
  options: streams.ReadReq.Options,
  metadata = new Metadata(),
): ClientReadableStream<streams.ReadResp> {
  return client.makeServerStreamRequest(
    READ,
    identity,
    (bytes: Buffer) => streams.ReadResp.deserializeBinary(bytes),
    Buffer.from(new streams.ReadReq().setOptions(options).serializeBinary()),
    metadata,
  )
}

/** Subscribes to `$all` and writes down what is said. */
export function follow(client: Client, options: FollowOptions = {}): Followed {
  const request = allFrom(options.from ?? 'start')
  request.setSubscription(new streams.ReadReq.Options.SubscriptionOptions())
  if (options.prefix === undefined) request.setNoFilter(new shared.Empty())
  else {
    const expression = new streams.ReadReq.Options.FilterOptions.Expression()
    request.setFilter(
      new streams.ReadReq.Options.FilterOptions()
        .setStreamIdentifier(expression.setPrefixList([options.prefix]))
        .setMax(options.window ?? 32)
        .setCheckpointintervalmultiplier(options.interval ?? 1),
    )
  }
  const said: string[] = []
  const call = openRead(client, request)
  call.on('data', (answer: streams.ReadResp) => {
    const words = wordsOf(answer)
    if (words !== undefined) said.push(words)
  })
  call.on('error', (error: { code?: number; details?: string }) =>
    said.push(`!${error.code} ${error.details}`),
  )
  return {
    said,
    call,
    says: async (t, ...expected) => {
      await eventually(
        'the messages of a subscription',
        () => said.length >= expected.length || undefined,
      )
      t.same(said, expected)
    },
    hears: async (word) => {
      await eventually(`a subscription gets ${word}`, () => said.includes(word) || undefined)
    },
  }
}

function wordsOf(answer: streams.ReadResp): string | undefined {
  if (answer.hasEvent()) return `e${answer.getEvent()?.getCommitPosition()}`
  if (answer.hasCaughtUp()) return 'live'
  const checkpoint = answer.getCheckpoint()
  if (checkpoint === undefined) return undefined
  return `c${checkpoint.getCommitPosition()}/${checkpoint.getPreparePosition()}`
}

const BATCH_APPEND = '/event_store.client.streams.Streams/BatchAppend'

/** An open call for appends, and what became of it. */
interface BatchCall {
  /** `ok`, `error: words (code, type of details)`, or `!code words` when the call ended. */
  readonly said: readonly string[]
  readonly call: ClientDuplexStream<streams.BatchAppendReq, streams.BatchAppendResp>
  /** Appends an event to a stream, any revision. */
  readonly append: (stream: string) => void
  readonly hears: (count: number) => Promise<readonly string[]>
}

/** Opens a `BatchAppend` call that wants the leader. */
export function openBatch(client: Client): BatchCall {
  const metadata = new Metadata()
  metadata.set('requires-leader', 'true')
  const call = client.makeBidiStreamRequest(
    BATCH_APPEND,
    (request: streams.BatchAppendReq) => Buffer.from(request.serializeBinary()),
    (bytes: Buffer) => streams.BatchAppendResp.deserializeBinary(bytes),
    metadata,
  )
  const said: string[] = []
  call.on('data', (answer: streams.BatchAppendResp) => said.push(resultOf(answer)))
  call.on('error', (error: { code?: number; details?: string }) =>
    said.push(`!${error.code} ${error.details}`),
  )
  return {
    said,
    call,
    append: (stream) => void call.write(appendOf(stream)),
    hears: async (count) => {
      await eventually('what a call for appends is told', () => said.length >= count || undefined)
      return said
    },
  }
}

function resultOf(answer: streams.BatchAppendResp): string {
  const error = answer.getError()
  if (error === undefined) return 'ok'
  return `error: ${error.getMessage()} (${error.getCode()}, ${error.getDetails()?.getTypeName()})`
}

function appendOf(stream: string): streams.BatchAppendReq {
  const options = new streams.BatchAppendReq.Options()
    .setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(stream)))
    .setAny(new emptyPb.Empty())
  const event = new streams.BatchAppendReq.ProposedMessage()
    .setId(new shared.UUID().setString(randomUUID()))
    .setData(Buffer.from('{"n":1}'))
  event.getMetadataMap().set('type', 'Numbered').set('content-type', 'application/json')
  return new streams.BatchAppendReq()
    .setCorrelationId(new shared.UUID().setString(randomUUID()))
    .setOptions(options)
    .setProposedMessagesList([event])
    .setIsFinal(true)
}
