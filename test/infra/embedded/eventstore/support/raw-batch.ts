import { randomUUID } from 'node:crypto'
import { type Client, type ClientDuplexStream, Metadata } from '@grpc/grpc-js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import emptyPb from 'google-protobuf/google/protobuf/empty_pb.js'
import { eventually } from '../../../../helpers/eventually.ts'

const BATCH_APPEND = '/event_store.client.streams.Streams/BatchAppend'

/** An open call for appends, and what became of it. */
export interface BatchCall {
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
  call.on('data', (answer: streams.BatchAppendResp) => said.push(wordsOf(answer)))
  call.on('error', (error: { code?: number; details?: string }) =>
    said.push(`!${error.code} ${error.details}`),
  )
  return {
    said,
    call,
    append: (stream) => void call.write(appendOf(stream)),
    hears: async (count) => {
      await eventually('the answers of a call for appends', () => said.length >= count || undefined)
      return said
    },
  }
}

function wordsOf(answer: streams.BatchAppendResp): string {
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
