/**
 * The gRPC server: EventStoreDB's services mapped onto the log.
 */

import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type sendUnaryData,
} from '@grpc/grpc-js'
import type streams from '@eventstore/db-client/generated/streams_pb.js'
import { handleAppend } from './append-call.ts'
import { BatchAppendCall } from './batch-append-call.ts'
import { clusterOf, supportedMethods } from './cluster.ts'
import { deleteStream, tombstoneStream } from './delete-call.ts'
import { stopping, tooMany, toWireError } from './errors.ts'
import type { Faults } from './faults.ts'
import { serializeFrames } from './frames.ts'
import {
  MAX_MESSAGE_BYTES,
  MAX_OPEN_READS,
  MAX_STREAMS_PER_CONNECTION,
  SHUTDOWN_GRACE_MS,
} from './limits.ts'
import type { EventLog } from './log.ts'
import { serveRead } from './read-call.ts'
import { parseReadRequest } from './read-request.ts'
import { type ReadCall, Sender } from './sender.ts'
import { serveSubscription } from './subscription.ts'
import { type Behaviour, behaviourOf, type ServerVersion } from './versions.ts'
import { FeaturesService, GossipService, StreamsService } from './wire.ts'

/** A listening server. */
export interface EventStoreServer {
  readonly host: string
  readonly port: number
  /** Takes no new calls, ends subscriptions, waits a bounded time for the rest. */
  readonly stop: () => Promise<void>
}

/** What a server is made of. Port 0 takes any free one. */
export interface ServerOptions {
  readonly log: EventLog
  readonly faults: Faults
  readonly version: ServerVersion
  readonly host: string
  readonly port: number
}

/** Starts serving. Rejects if the port cannot be had. */
export async function startServer(options: ServerOptions): Promise<EventStoreServer> {
  const { log, faults, host } = options
  const behaviour = behaviourOf(options.version)
  const server = new Server({
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_concurrent_streams': MAX_STREAMS_PER_CONNECTION,
  })
  const senders = new Set<Sender>()
  const batches = new Set<BatchAppendCall>()
  let isStopping = false

  server.addService(
    {
      ...StreamsService,
      read: { ...streamsMethod('read'), responseSerialize: serializeFrames },
    },
    {
      read: (call: ReadCall) => {
        if (isStopping) call.emit('error', stopping())
        else if (senders.size >= MAX_OPEN_READS) call.emit('error', tooMany('too many reads'))
        else void handleRead(log, behaviour, call, senders, () => isStopping)
      },
      append: (
        call: ServerReadableStream<streams.AppendReq, streams.AppendResp>,
        reply: sendUnaryData<streams.AppendResp>,
      ) => handleAppend(log, faults, call, reply),
      batchAppend: (call: ServerDuplexStream<streams.BatchAppendReq, streams.BatchAppendResp>) => {
        const batch = new BatchAppendCall(log, faults, call)
        batches.add(batch)
        call.on('close', () => batches.delete(batch))
        call.on('cancelled', () => batches.delete(batch))
      },
      delete: unary((request: streams.DeleteReq) => deleteStream(log, request)),
      tombstone: unary((request: streams.TombstoneReq) => tombstoneStream(log, request)),
    },
  )
  server.addService(FeaturesService, {
    getSupportedMethods: unary(async () => supportedMethods(behaviour.reportedVersion)),
  })
  server.addService(GossipService, { read: unary(async () => clusterOf(host, port)) })

  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(
      `${host}:${options.port}`,
      ServerCredentials.createInsecure(),
      (error, bound) => (error === null ? resolve(bound) : reject(error)),
    )
  })

  const stop = async (): Promise<void> => {
    isStopping = true
    for (const sender of senders) sender.close()
    for (const batch of batches) batch.stop()
    await new Promise<void>((resolve) => {
      const force = setTimeout(() => {
        server.forceShutdown()
        resolve()
      }, SHUTDOWN_GRACE_MS)
      server.tryShutdown(() => {
        clearTimeout(force)
        resolve()
      })
    })
  }
  return { host, port, stop }
}

function streamsMethod(name: string): (typeof StreamsService)[string] {
  const method = StreamsService[name]
  if (method === undefined) throw new Error(`the protocol has no method Streams.${name}`)
  return method
}

async function handleRead(
  log: EventLog,
  behaviour: Behaviour,
  call: ReadCall,
  senders: Set<Sender>,
  isStopping: () => boolean,
): Promise<void> {
  let sender: Sender | undefined
  try {
    const request = parseReadRequest(call.request)
    sender = new Sender(call, request.structuredIds)
    senders.add(sender)
    if (request.count === undefined) await serveSubscription(log, request, sender, behaviour)
    else await serveRead(log, request, sender)
    if (isStopping() && !call.cancelled) throw stopping()
    call.end()
  } catch (error) {
    if (!call.cancelled) call.emit('error', toWireError(error))
  } finally {
    if (sender !== undefined) senders.delete(sender)
  }
}

function unary<Request, Response>(
  action: (request: Request) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, reply) => {
    action(call.request).then(
      (response) => reply(null, response),
      (error: unknown) => reply(toWireError(error)),
    )
  }
}
