import { EventStoreDBClient } from '@eventstore/db-client'
import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type { CallOptions, ClientReadableStream, Metadata } from '@grpc/grpc-js'
import type { AppendRequest, AppendResponse, ReadRequest, ReadResponse } from './wire.ts'

/** Beyond the server's own deadline, so that its answer wins over our timer. */
const TIMER_SLACK_MS = 250
/** Answers handed over at once at most. */
const PULL_BATCH = 64
const KEEPALIVE_TIMEOUT_MS = 5_000

/**
 * What the client library keeps for its own commands: the channel with its discovery, leader
 * change, reconnection, credentials and keepalive.
 */
interface ClientInternals {
  readonly execute: <T>(
    type: typeof streamsGrpc.StreamsClient,
    name: string,
    action: (client: StreamsClient) => Promise<T>,
  ) => Promise<T>
  readonly GRPCStreamCreator: (
    type: typeof streamsGrpc.StreamsClient,
    name: string,
    creator: (client: StreamsClient) => ClientReadableStream<ReadResponse>,
  ) => () => Promise<ClientReadableStream<ReadResponse>>
  readonly callArguments: (
    base: { readonly requiresLeader?: boolean; readonly deadline?: number },
    options?: CallOptions,
  ) => [Metadata, CallOptions]
  readonly dispose: () => Promise<void>
}

/** Our own timer fired, or a subscription was found dead: the outcome is unknown. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
}

export interface PullOptions {
  readonly signal?: AbortSignal
  readonly requiresLeader?: boolean
  /** Silence after which `onIdle` is asked; it answers true when the peer is to be given up. */
  readonly idleMs: number
  readonly onIdle: () => Promise<boolean> | boolean
}

/** One connection to the log; it reconnects by itself. Errors are those of gRPC, unmapped. */
export interface Connection {
  readonly append: (requests: readonly AppendRequest[], tryMs: number) => Promise<AppendResponse>
  /** Answers in order, pulled: nothing is fetched far ahead of the consumer. */
  readonly pull: (
    request: ReadRequest,
    options: PullOptions,
  ) => AsyncGenerator<readonly ReadResponse[], void, undefined>
  readonly close: () => Promise<void>
}

/** Opens lazily: nothing is sent before the first call. @throws when the URL cannot be parsed. */
export function createConnection(url: string): Connection {
  const keepalive = url.includes('keepAliveTimeout')
    ? ''
    : `${url.includes('?') ? '&' : '?'}keepAliveTimeout=${KEEPALIVE_TIMEOUT_MS}`
  // The one place that reaches under the library's public surface; its version is locked.
  const client = EventStoreDBClient.connectionString(
    `${url}${keepalive}`,
  ) as unknown as ClientInternals
  return {
    append: (requests, tryMs) => sendAppend(client, requests, tryMs),
    pull: (request, options) => pull(client, request, options),
    close: () => client.dispose(),
  }
}

function sendAppend(
  client: ClientInternals,
  requests: readonly AppendRequest[],
  tryMs: number,
): Promise<AppendResponse> {
  const expiry = new AbortController()
  const sent = client.execute(
    streamsGrpc.StreamsClient,
    'append',
    (stub) =>
      new Promise<AppendResponse>((resolve, reject) => {
        if (expiry.signal.aborted) {
          reject(new NoAnswerError('not sent in time'))
          return
        }
        const [metadata, options] = client.callArguments({ requiresLeader: true, deadline: tryMs })
        const call = stub.append(metadata, options, (error, response) => {
          if (error) reject(error)
          else resolve(response)
        })
        call.on('error', reject)
        expiry.signal.addEventListener('abort', () => call.cancel())
        for (const request of requests) call.write(request)
        call.end()
      }),
  )
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new NoAnswerError(`no answer in ${tryMs} ms`))
      expiry.abort()
    }, tryMs + TIMER_SLACK_MS)
    sent.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

async function* pull(
  client: ClientInternals,
  request: ReadRequest,
  options: PullOptions,
): AsyncGenerator<readonly ReadResponse[], void, undefined> {
  const { signal } = options
  const state: { failure?: Error; ended: boolean; wake: () => void } = {
    ended: false,
    wake: () => undefined,
  }
  const fail = (error: unknown) => {
    state.failure ??= error instanceof Error ? error : new Error(String(error))
    state.wake()
  }
  const onAbort = () => fail(new NoAnswerError('aborted'))
  let call: ClientReadableStream<ReadResponse> | undefined
  let given = false
  const open = client.GRPCStreamCreator(streamsGrpc.StreamsClient, 'read', (stub) =>
    stub.read(
      request,
      ...client.callArguments(options.requiresLeader === true ? { requiresLeader: true } : {}, {
        deadline: Infinity,
      }),
    ),
  )
  open().then((stream) => {
    stream.on('error', fail)
    if (given) {
      stream.cancel()
      return
    }
    call = stream
    stream.on('readable', () => state.wake())
    stream.on('end', () => {
      state.ended = true
      state.wake()
    })
    state.wake()
  }, fail)
  signal?.addEventListener('abort', onAbort)
  try {
    if (signal?.aborted === true) onAbort()
    for (;;) {
      const batch = call === undefined ? [] : drain(call)
      if (batch.length > 0) {
        yield batch
        continue
      }
      if (state.failure !== undefined) throw state.failure
      if (state.ended) return
      if (!(await woken(state, options.idleMs)) && (await options.onIdle()) && !readable(call))
        throw new NoAnswerError('no answer')
    }
  } finally {
    given = true
    signal?.removeEventListener('abort', onAbort)
    call?.cancel()
  }
}

function readable(call: ClientReadableStream<ReadResponse> | undefined): boolean {
  return call !== undefined && call.readableLength > 0
}

function drain(call: ClientReadableStream<ReadResponse>): readonly ReadResponse[] {
  const batch: ReadResponse[] = []
  while (batch.length < PULL_BATCH) {
    const response = call.read() as ReadResponse | null
    if (response === null) break
    batch.push(response)
  }
  return batch
}

/** True when something happened, false after a silence. */
function woken(state: { wake: () => void }, idleMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), idleMs)
    state.wake = () => {
      clearTimeout(timer)
      resolve(true)
    }
  })
}
