import {
  Client,
  credentials,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerWritableStream,
  type ServiceError,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { FeaturesService, StreamsService } from '../../../infra/embedded/eventstore/wire.ts'

/**
 * An event log that forgets settlements: appends to journal streams are answered as successes at
 * once and stored nowhere; everything else goes to the event store behind it, byte by byte. What a
 * gateway gains by it is the cost of durability, and of the event store's share of the machine.
 *
 *     node null-log.js 'esdb://127.0.0.1:PORT?tls=false'
 */
const JOURNAL = /(^|\.)journal-/
const MAX_MESSAGE_BYTES = 64 << 20

const given = process.argv[2] ?? ''
/** As gRPC names it: a socket as it is, a server by host and port. */
const target = given.startsWith('unix:') ? given : new URL(given.replace('esdb://', 'http://')).host
const limits = {
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
}
const behind = new Client(target, credentials.createInsecure(), limits)
const same = (bytes: Buffer): Buffer => bytes

type Methods = Readonly<Record<string, MethodDefinition<unknown, unknown>>>

/** The same methods, their messages left as the bytes they are. */
function raw(service: object): Record<string, MethodDefinition<Buffer, Buffer>> {
  return Object.fromEntries(
    Object.entries(service as Methods).map(([name, method]) => [
      name,
      {
        ...method,
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      },
    ]),
  )
}

const streamMethods = raw(StreamsService)
const featureMethods = raw(FeaturesService)
const pathOf = (methods: typeof streamMethods, name: string): string => methods[name]?.path ?? ''

/** The answer to an append of a journal; undefined for any other append. */
function forgotten(request: streams.BatchAppendReq): streams.BatchAppendResp | undefined {
  const options = request.getOptions()
  const identifier = options?.getStreamIdentifier()
  const name = Buffer.from(identifier?.getStreamName_asU8() ?? []).toString()
  if (options === undefined || !JOURNAL.test(name)) return undefined
  const before = options.hasStreamPosition() ? Number(options.getStreamPosition()) : -1
  const success = new streams.BatchAppendResp.Success()
  success.setCurrentRevision(String(before + request.getProposedMessagesList().length))
  success.setNoPosition(new shared.Empty())
  const response = new streams.BatchAppendResp()
  response.setCorrelationId(request.getCorrelationId())
  response.setStreamIdentifier(identifier)
  response.setSuccess(success)
  return response
}

const server = new Server(limits)
server.addService(streamMethods, {
  read: (call: ServerWritableStream<Buffer, Buffer>) => {
    const answers = behind.makeServerStreamRequest(
      pathOf(streamMethods, 'read'),
      same,
      same,
      call.request,
      call.metadata,
    )
    answers.on('data', (bytes: Buffer) => {
      if (!call.write(bytes)) {
        answers.pause()
        call.once('drain', () => answers.resume())
      }
    })
    answers.on('end', () => call.end())
    answers.on('error', (error: ServiceError) => call.emit('error', error))
    call.on('cancelled', () => answers.cancel())
  },
  append: (call: ServerReadableStream<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
    const onward = behind.makeClientStreamRequest(
      pathOf(streamMethods, 'append'),
      same,
      same,
      call.metadata,
      (error, response) =>
        error === null ? reply(null, response ?? Buffer.alloc(0)) : reply(error),
    )
    call.on('data', (bytes: Buffer) => onward.write(bytes))
    call.on('end', () => onward.end())
    call.on('cancelled', () => onward.cancel())
  },
  batchAppend: (call: ServerDuplexStream<Buffer, Buffer>) => {
    const onward = behind.makeBidiStreamRequest(
      pathOf(streamMethods, 'batchAppend'),
      same,
      same,
      call.metadata,
    )
    call.on('data', (bytes: Buffer) => {
      const answer = forgotten(streams.BatchAppendReq.deserializeBinary(bytes))
      if (answer === undefined) onward.write(bytes)
      else call.write(Buffer.from(answer.serializeBinary()))
    })
    call.on('end', () => onward.end())
    call.on('cancelled', () => onward.cancel())
    onward.on('data', (bytes: Buffer) => call.write(bytes))
    onward.on('end', () => call.end())
    onward.on('error', (error: ServiceError) => call.emit('error', error))
  },
})
server.addService(featureMethods, {
  getSupportedMethods: (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
    behind.makeUnaryRequest(
      pathOf(featureMethods, 'getSupportedMethods'),
      same,
      same,
      call.request,
      call.metadata,
      (error, response) =>
        error === null ? reply(null, response ?? Buffer.alloc(0)) : reply(error),
    )
  },
})
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`)
})
process.on('SIGTERM', () => process.exit(0))
