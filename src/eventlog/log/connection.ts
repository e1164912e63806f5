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
import { readAnswer, type ReadAnswer } from './wire-read.ts'

/** Answers handed over at once at most. */
const PULL_BATCH = 64
const KEEPALIVE_TIMEOUT_MS = 5_000
const READ_PATH = '/event_store.client.streams.Streams/Read'

export interface PullOptions {
  readonly signal?: AbortSignal
  readonly requiresLeader?: boolean
  /** Silence after which `onIdle` is asked; it answers true when the peer is to be given up. */
  readonly idleMs: number
  readonly onIdle: () => Promise<boolean> | boolean
}

/** How appends travel: in a shared call (cheaper), or in a call for each. */
export type AppendPath = 'batch' | 'unary'

/** One connection to the log; it reconnects by itself. */
export interface Connection {
  /** One try of an append. Never rejects. */
  readonly append: (command: AppendCommand, tryMs: number) => Promise<AppendAnswer>
  /** Answers in order, pulled: nothing is fetched far ahead. Throws errors of gRPC, unmapped. */
  readonly pull: (
    request: ReadRequest,
    options: PullOptions,
  ) => AsyncGenerator<readonly ReadAnswer[], void, undefined>
  readonly close: () => Promise<void>
}

/** Opens lazily: nothing is sent before the first call. @throws when the URL cannot be parsed. */
export function createConnection(url: string, appendPath: AppendPath): Connection {
  const keepalive = url.includes('keepAliveTimeout')
    ? ''
    : `${url.includes('?') ? '&' : '?'}keepAliveTimeout=${KEEPALIVE_TIMEOUT_MS}`
  const client = EventStoreDBClient.connectionString(
    withDiscovery(`${url}${keepalive}`),
  ) as unknown as ClientInternals
  const discovery = discoverWithoutEnd(client)
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
  let call: ClientReadableStream<ReadAnswer> | undefined
  let channel: CallChannel | undefined
  let given = false
  const open = client.GRPCStreamCreator(streamsGrpc.StreamsClient, 'read', (stub) => {
    channel = stub.getChannel()
    const base = options.requiresLeader === true ? { requiresLeader: true } : {}
    const callArguments = client.callArguments(base, { deadline: Infinity })
    return stub.makeServerStreamRequest(READ_PATH, bytesOf, readAnswer, request, ...callArguments)
  })
  open().then((stream) => {
    stream.on('error', fail)
    if (given) {
      letGo(stream)
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
  // Until the first answer only: later a subscription may be quiet because nothing happens.
  const silence = setTimeout(() => {
    if (channel !== undefined)
      void leaderMoved(channel).then((moved) => {
        if (moved) fail(new NoAnswerError('another node leads'))
      })
  }, SILENCE_MS)
  try {
    if (signal?.aborted === true) onAbort()
    for (;;) {
      const batch = call === undefined ? [] : drain(call)
      if (batch.length > 0) {
        clearTimeout(silence)
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
    clearTimeout(silence)
    signal?.removeEventListener('abort', onAbort)
    if (call !== undefined) letGo(call)
  }
}

/**
 * Ends a call nobody reads any more. The library remembers each until it is read to its end, and closes only then: what
 * has arrived of an answer that is over already is thrown away.
 */
function letGo(call: ClientReadableStream<ReadAnswer>): void {
  call.cancel()
  call.removeAllListeners('readable')
  call.resume()
}

function bytesOf(request: ReadRequest): Buffer {
  return Buffer.from(request.serializeBinary())
}

function readable(call: ClientReadableStream<ReadAnswer> | undefined): boolean {
  return call !== undefined && call.readableLength > 0
}

function drain(call: ClientReadableStream<ReadAnswer>): readonly ReadAnswer[] {
  const batch: ReadAnswer[] = []
  while (batch.length < PULL_BATCH) {
    const response = call.read() as ReadAnswer | null
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
