/**
 * The gRPC server: EventStoreDB's services on a socket or a port.
 */

import { Server, ServerCredentials } from '@grpc/grpc-js'
import { clusterOf, supportedMethods } from './cluster.ts'
import type { WireError } from './errors.ts'
import { readBatchRequest } from './batch-request.ts'
import { serializeFrames } from './frames.ts'
import type { AccessGate } from './gate.ts'
import { type Serving, streamsHandlers, unary } from './handlers.ts'
import { MAX_MESSAGE_BYTES, MAX_STREAMS_PER_CONNECTION, SHUTDOWN_GRACE_MS } from './limits.ts'
import type { ServerLog } from './log.ts'
import { behaviourOf, type ServerVersion } from './versions.ts'
import { FeaturesService, GossipService, StreamsService } from './wire.ts'
import type { AppendHooks } from './types.ts'

/** A listening server. */
export interface EventStoreServer {
  /** 0 for a socket. */
  readonly port: number
  /** Ends open calls with an error: appends on shared calls, or reads and subscriptions of `$all`. */
  readonly endCalls: (which: 'batch_appends' | 'reads_of_all', error: WireError) => void
  /** Takes no new calls, ends subscriptions, waits a bounded time for the rest. */
  readonly stop: () => Promise<void>
}

/**
 * Address of a server. On a port it requires no credentials, like an EventStoreDB without security:
 * every caller that can reach it is served. Port 0 takes any free one.
 */
export type ListenAddress =
  | { readonly socket: string }
  | { readonly host: string; readonly port: number }

/** The parts of a server. */
interface ServerOptions {
  readonly log: ServerLog
  readonly hooks?: AppendHooks
  readonly gate: AccessGate
  readonly version: ServerVersion
  readonly place: ListenAddress
}

/** Starts serving. Rejects if the place cannot be had. */
export async function startServer(options: ServerOptions): Promise<EventStoreServer> {
  const { log, hooks = {}, gate, place } = options
  const behaviour = behaviourOf(options.version)
  const server = new Server({
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_concurrent_streams': MAX_STREAMS_PER_CONNECTION,
  })
  const serving: Serving = {
    log,
    hooks,
    gate,
    behaviour,
    reads: new Map(),
    batches: new Set(),
    isStopping: false,
  }
  const read = { ...streamsMethod('read'), responseSerialize: serializeFrames }
  const batchAppend = {
    ...streamsMethod('batchAppend'),
    requestDeserialize: readBatchRequest,
    responseSerialize: (bytes: Buffer) => bytes,
  }
  server.addService({ ...StreamsService, read, batchAppend }, streamsHandlers(serving))
  server.addService(FeaturesService, {
    getSupportedMethods: unary(async () => supportedMethods(behaviour.reportedVersion)),
  })
  server.addService(GossipService, {
    read: unary(async () => clusterOf('host' in place ? gate.members(place.host, port) : [])),
  })

  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(
      'host' in place ? `${place.host}:${place.port}` : `unix:${place.socket}`,
      ServerCredentials.createInsecure(),
      (error, bound) => (error === null ? resolve(bound) : reject(error)),
    )
  })
  return {
    port,
    endCalls: (which, error) => {
      const { batches, reads } = serving
      if (which === 'batch_appends') for (const batch of batches) batch.fail(error)
      else for (const [sender, { target }] of reads) if (target === 'all') sender.close(error)
    },
    stop: () => stop(server, serving),
  }
}

async function stop(server: Server, serving: Serving): Promise<void> {
  serving.isStopping = true
  for (const sender of serving.reads.keys()) sender.close()
  for (const batch of serving.batches) batch.stop()
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

function streamsMethod(name: string): (typeof StreamsService)[string] {
  const method = StreamsService[name]
  if (method === undefined) throw new Error(`the protocol has no method Streams.${name}`)
  return method
}
