/**
 * EventStoreDB's calls mapped onto the log, each let in by the gate.
 */

import type {
  handleUnaryCall,
  Metadata,
  sendUnaryData,
  ServerDuplexStream,
  ServerReadableStream,
  UntypedServiceImplementation,
} from '@grpc/grpc-js'
import type streams from '@eventstore/db-client/generated/streams_pb.js'
import { handleAppend } from './append-call.ts'
import { BatchAppendCall } from './batch-append-call.ts'
import type { BatchRequest } from './batch-request.ts'
import { deleteStream, tombstoneStream } from './delete-call.ts'
import { stopping, tooManyError, toWireError } from './errors.ts'
import type { AccessGate } from './gate.ts'
import { MAX_OPEN_READS } from './limits.ts'
import type { ServerLog } from './log.ts'
import { serveRead } from './read-call.ts'
import { parseReadRequest, type ReadRequest } from './read-request.ts'
import { type ReadCall, Sender } from './sender.ts'
import { serveSubscription } from './subscription.ts'
import type { Behaviour } from './versions.ts'
import type { AppendHooks } from './types.ts'

/** The log from which calls are served, and the open calls. */
export interface Serving {
  readonly log: ServerLog
  readonly hooks: AppendHooks
  readonly gate: AccessGate
  readonly behaviour: Behaviour
  readonly reads: Map<Sender, ReadRequest>
  readonly batches: Set<BatchAppendCall>
  isStopping: boolean
}

/** The calls of the service `Streams`. */
export function streamsHandlers(serving: Serving): UntypedServiceImplementation {
  const { log, hooks, gate } = serving
  return {
    read: (call: ReadCall) => {
      if (serving.isStopping) call.emit('error', stopping())
      else if (serving.reads.size >= MAX_OPEN_READS)
        call.emit('error', tooManyError('too many reads'))
      else void handleRead(serving, call)
    },
    append: (
      call: ServerReadableStream<streams.AppendReq, streams.AppendResp>,
      reply: sendUnaryData<streams.AppendResp>,
    ) => {
      try {
        admitWrite(gate, call.metadata)
      } catch (error) {
        reply(toWireError(error))
        return
      }
      handleAppend(log, hooks, call, reply)
    },
    batchAppend: (call: ServerDuplexStream<BatchRequest, Buffer>) =>
      handleBatchAppend(serving, call),
    delete: unary((request: streams.DeleteReq, metadata) => {
      admitWrite(gate, metadata)
      return deleteStream(log, request)
    }),
    tombstone: unary((request: streams.TombstoneReq, metadata) => {
      admitWrite(gate, metadata)
      return tombstoneStream(log, request)
    }),
  }
}

/** A call of one request and one answer. */
export function unary<Request, Response>(
  action: (request: Request, metadata: Metadata) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, reply) => {
    const answer = async (): Promise<Response> => await action(call.request, call.metadata)
    answer().then(
      (response) => reply(null, response),
      (error: unknown) => reply(toWireError(error)),
    )
  }
}

async function handleRead(serving: Serving, call: ReadCall): Promise<void> {
  const { log, gate, behaviour, reads } = serving
  let sender: Sender | undefined
  try {
    gate.admitCall()
    const request = parseReadRequest(call.request)
    gate.admitRead(request.target, requiresLeader(call.metadata))
    sender = new Sender(call, request.structuredIds)
    reads.set(sender, request)
    if (request.count === undefined) await serveSubscription(log, request, sender, behaviour)
    else await serveRead(log, request, sender)
    if (sender.failure !== undefined) throw sender.failure
    if (serving.isStopping && !call.cancelled) throw stopping()
    call.end()
  } catch (error) {
    if (!call.cancelled) call.emit('error', toWireError(error))
  } finally {
    if (sender !== undefined) reads.delete(sender)
  }
}

function handleBatchAppend(
  { log, hooks, gate, batches }: Serving,
  call: ServerDuplexStream<BatchRequest, Buffer>,
): void {
  const admit = (): void => gate.admitWrite(requiresLeader(call.metadata))
  const batch = new BatchAppendCall(log, hooks, call, admit)
  batches.add(batch)
  call.on('close', () => batches.delete(batch))
  call.on('cancelled', () => batches.delete(batch))
  try {
    gate.admitCall()
  } catch (error) {
    batch.fail(toWireError(error))
  }
}

function admitWrite(gate: AccessGate, metadata: Metadata): void {
  gate.admitCall()
  gate.admitWrite(requiresLeader(metadata))
}

function requiresLeader(metadata: Metadata): boolean {
  return metadata.get('requires-leader')[0] === 'true'
}
