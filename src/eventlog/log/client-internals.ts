import type { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type { CallOptions, Channel, Client, Metadata } from '@grpc/grpc-js'
import type { Readable } from 'node:stream'

/**
 * Internals of the client library: the channel with its discovery, leader change, reconnection,
 * credentials and keepalive. Only `connection.ts` uses it; the library's version is locked.
 */
export interface ClientInternals {
  readonly execute: <T>(
    type: StreamsClientType,
    name: string,
    action: (client: StreamsClient) => Promise<T>,
  ) => Promise<T>
  readonly GRPCStreamCreator: <S extends Readable>(
    type: StreamsClientType,
    name: string,
    creator: (client: StreamsClient) => S,
  ) => () => Promise<S>
  readonly callArguments: (
    base: { readonly requiresLeader?: boolean; readonly deadline?: number },
    options?: CallOptions,
  ) => [Metadata, CallOptions]
  /** The channel that calls use now. */
  readonly getChannel: () => Promise<CallChannel>
  /** The node that calls should go to, `host:port`: by gossip, when the URL names several hosts. */
  readonly resolveUri: () => Promise<string>
  /** Gives a channel up when the error says so, if it is still the one that calls use. */
  readonly handleError: (
    holder: { readonly getChannel: () => CallChannel },
    error: Error,
  ) => Promise<void>
  /** Finds a node (by gossip if the URL names several hosts) and opens a channel to it. */
  createChannel: () => Promise<Channel>
  readonly dispose: () => Promise<void>
}

/** The connection of a call. */
export type CallChannel = ReturnType<Client['getChannel']>

type StreamsClientType = new (...args: ConstructorParameters<typeof StreamsClient>) => StreamsClient

/** The gateway's timer fired before anything was written: certainly nothing happened. */
export class NeverSentError extends Error {
  override readonly name = 'NeverSentError'
}

/** The gateway's timer fired, or it gave up a node: the outcome is unknown. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
}

/** Longer than the server's deadline, so that its answer comes before the gateway's timer fires. */
export const TIMER_SLACK_MS = 250

/** After this long without an answer, the node may no longer lead: discovery checks the leader. */
export const SILENCE_MS = 1_000
