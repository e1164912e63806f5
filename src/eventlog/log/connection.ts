import { EventStoreDBClient } from '@eventstore/db-client'
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type { ClientReadableStream } from '@grpc/grpc-js'
import { createBatchAppend } from './append-batch.ts'
import { sendUnary } from './append-unary.ts'
import {
  NoAnswerError,
  SILENCE_MS,
  type CallChannel,
  type ClientInternals,
} from './client-internals.ts'
import {
  createLeaderCheck,
  discoverWithoutEnd,
  type LeaderCheck,
  withDiscovery,
} from './discovery.ts'
import type { AppendAnswer, AppendCommand } from './wire-append.ts'
import type { ReadRequest } from './wire.ts'
import { whyUndiscovered } from './unreachable.ts'
import { readAnswer, type ReadAnswer } from './wire-read.ts'

/** Maximum number of answers that are handed over together. */
const PULL_BATCH = 64
const KEEPALIVE_TIMEOUT_MS = 5_000
const READ_PATH = '/event_store.client.streams.Streams/Read'

export interface PullOptions {
  readonly signal?: AbortSignal
  readonly requiresLeader?: boolean
  /** The silence after which `onIdle` is called; it returns true if the node must be given up. */
  readonly idleMs: number
  readonly onIdle: () => Promise<boolean> | boolean
}

/** Kind of call for appends: one shared call (cheaper), or one call for each. */
export type AppendPath = 'batch' | 'unary'

/** One connection to the log; it reconnects by itself. */
export interface Connection {
  /** One attempt of an append. Never rejects. */
  readonly append: (command: AppendCommand, tryMs: number) => Promise<AppendAnswer>
  /** Answers in order, on demand: nothing is read far ahead. Throws errors of gRPC, unmapped. */
  readonly pull: (
    request: ReadRequest,
    options: PullOptions,
  ) => AsyncGenerator<readonly ReadAnswer[], void, undefined>
  /** Why no node is found at the moment, in words, where that is known. */
  readonly undiscovered: () => string | undefined
  readonly close: () => Promise<void>
}

/** A socket of this machine, as `unix:/path`. */
const SOCKET = /^unix:\//
/** The library takes hosts only; it is asked for no other address than the socket's. */
const SOCKET_HOST = 'esdb://localhost?tls=false'

/**
 * The library's client for a connection string, or for the socket that the embedded event store listens on: no other
 * account can reach that one, and none can listen in its place. @throws when the URL cannot be parsed.
 */
export function openClient(url: string): EventStoreDBClient {
  if (!SOCKET.test(url)) return EventStoreDBClient.connectionString(withOptions(url))
  const client = EventStoreDBClient.connectionString(withOptions(SOCKET_HOST))
  const internals = client as unknown as { resolveUri: ClientInternals['resolveUri'] }
  internals.resolveUri = () => Promise.resolve(url)
  return client
}

function withOptions(url: string): string {
  const keepalive = url.includes('keepAliveTimeout')
    ? ''
    : `${url.includes('?') ? '&' : '?'}keepAliveTimeout=${KEEPALIVE_TIMEOUT_MS}`
  return withDiscovery(`${url}${keepalive}`)
}

/** Opens lazily: nothing is sent before the first call. @throws when the URL cannot be parsed. */
export function createConnection(url: string, appendPath: AppendPath): Connection {
  const client = openClient(url) as unknown as ClientInternals
  const discovery = discoverWithoutEnd(client, () => whyUndiscovered(url))
  const leaderMoved = createLeaderCheck(client)
  const batch = createBatchAppend(client, leaderMoved)
  return {
    append: async (command, tryMs) => {
      if (appendPath === 'unary' || batch.unsupported()) return sendUnary(client, command, tryMs)
      const answer = await batch.send(command, tryMs)
      return batch.unsupported() && answer.kind === 'transport'
        ? sendUnary(client, command, tryMs)
        : answer
    },
    pull: (request, options) => pull(client, request, options, leaderMoved),
    undiscovered: discovery.reason,
    close: async () => {
      discovery.stop()
      await client.dispose()
    },
  }
}

async function* pull(
  client: ClientInternals,
  request: ReadRequest,
  options: PullOptions,
  leaderMoved: LeaderCheck,
): AsyncGenerator<readonly ReadAnswer[], void, undefined> {
  const read = new PulledRead(leaderMoved, options.signal)
  try {
    read.open(client, request, options.requiresLeader === true)
    for (;;) {
      const batch = read.drain()
      if (batch.length > 0) {
        yield batch
        continue
      }
      if (read.isOver()) return
      if (await read.woken(options.idleMs)) continue
      if ((await options.onIdle()) && !read.isReadable()) throw new NoAnswerError('no answer')
      yield []
    }
  } finally {
    read.close()
  }
}

/** The call of one read: the answers that have arrived, and its end. */
class PulledRead {
  #call: ClientReadableStream<ReadAnswer> | undefined
  #channel: CallChannel | undefined
  #failure: Error | undefined
  #ended = false
  #closed = false
  #wake: () => void = () => undefined
  readonly #signal: AbortSignal | undefined
  readonly #abort = (): void => this.#fail(new NoAnswerError('aborted'))
  readonly #silence: NodeJS.Timeout

  constructor(leaderMoved: LeaderCheck, signal: AbortSignal | undefined) {
    this.#signal = signal
    // The timer runs only until the first answer: later a subscription may be silent because
    // nothing happens.
    this.#silence = setTimeout(() => {
      if (this.#channel !== undefined)
        void leaderMoved(this.#channel).then((moved) => {
          if (moved) this.#fail(new NoAnswerError('another node leads'))
        })
    }, SILENCE_MS)
  }

  open(client: ClientInternals, request: ReadRequest, requiresLeader: boolean): void {
    const open = client.GRPCStreamCreator(streamsGrpc.StreamsClient, 'read', (stub) => {
      this.#channel = stub.getChannel()
      const base = requiresLeader ? { requiresLeader } : {}
      const callArguments = client.callArguments(base, { deadline: Infinity })
      return stub.makeServerStreamRequest(READ_PATH, bytesOf, readAnswer, request, ...callArguments)
    })
    const fail = (error: unknown): void => this.#fail(error)
    open().then((stream) => {
      stream.on('error', fail)
      if (this.#closed) letGo(stream)
      else this.#follow(stream)
    }, fail)
    this.#signal?.addEventListener('abort', this.#abort)
    if (this.#signal?.aborted === true) this.#abort()
  }

  /** The answers that have arrived, at most `PULL_BATCH`. */
  drain(): readonly ReadAnswer[] {
    const batch: ReadAnswer[] = []
    if (this.#call === undefined) return batch
    while (batch.length < PULL_BATCH) {
      const response = this.#call.read() as ReadAnswer | null
      if (response === null) break
      batch.push(response)
    }
    if (batch.length > 0) clearTimeout(this.#silence)
    return batch
  }

  /** Whether the server ended the read. @throws the error that ended it */
  isOver(): boolean {
    if (this.#failure !== undefined) throw this.#failure
    return this.#ended
  }

  isReadable(): boolean {
    return this.#call !== undefined && this.#call.readableLength > 0
  }

  /** True if something arrived, false after a silence. */
  woken(idleMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), idleMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve(true)
      }
    })
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#silence)
    this.#signal?.removeEventListener('abort', this.#abort)
    if (this.#call !== undefined) letGo(this.#call)
  }

  #follow(stream: ClientReadableStream<ReadAnswer>): void {
    this.#call = stream
    stream.on('readable', () => this.#wake())
    stream.on('end', () => {
      this.#ended = true
      this.#wake()
    })
    this.#wake()
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error))
    this.#wake()
  }
}

/**
 * Ends a call without a reader. The library keeps each call until its answer is read to the end and
 * closes only then, so what has already arrived of a finished answer is discarded.
 */
function letGo(call: ClientReadableStream<ReadAnswer>): void {
  call.cancel()
  call.removeAllListeners('readable')
  call.resume()
}

function bytesOf(request: ReadRequest): Buffer {
  return Buffer.from(request.serializeBinary())
}
