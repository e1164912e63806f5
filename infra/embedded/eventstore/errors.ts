/**
 * Errors as EventStoreDB puts them on the wire: a gRPC status plus trailers that clients turn
 * into their own error types.
 */

import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { MAX_APPEND_BYTES } from './limits.ts'
import { LogError } from './types.ts'

/** A gRPC error with its trailers. */
export class WireError extends Error implements ServiceError {
  override readonly name = 'WireError'
  readonly code: status
  readonly details: string
  readonly metadata: Metadata

  constructor(code: status, details: string, trailers: Readonly<Record<string, string>> = {}) {
    super(details)
    this.code = code
    this.details = details
    this.metadata = new Metadata()
    for (const [key, value] of Object.entries(trailers)) this.metadata.set(key, printable(value))
  }
}

export function invalidArgument(details: string): WireError {
  return new WireError(status.INVALID_ARGUMENT, details)
}

function unimplemented(what: string): WireError {
  return new WireError(status.UNIMPLEMENTED, `${what} is not implemented by this event store`)
}

export function tooManyError(what: string): WireError {
  return new WireError(status.RESOURCE_EXHAUSTED, what)
}

/** The error that the real server returns for an internal fault. */
export function handlerFailure(): WireError {
  return new WireError(status.UNKNOWN, 'Exception was thrown by handler.')
}

/** Ends a live subscription whose reader does not read, in the real server's words. */
export function consumerTooSlow(): WireError {
  return new WireError(
    status.ABORTED,
    'Operation timed out: Consumer too slow to handle event while live. Client resubscription required.',
  )
}

/**
 * Another node got an append or a read that only the leader serves; names the address of the
 * leader.
 */
export function notLeader(leader: { readonly host: string; readonly port: number }): WireError {
  return new WireError(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': leader.host,
    'leader-endpoint-port': String(leader.port),
  })
}

/** The error if no leader is known. */
export function noLeaderInfo(): WireError {
  return new WireError(status.UNKNOWN, 'No leader info available in response')
}

/** A node that is not, or not yet, in a state to serve. */
export function serverNotReady(): WireError {
  return new WireError(status.UNAVAILABLE, 'Server Is Not Ready')
}

/** The account lacks the right. */
export function accessDenied(): WireError {
  return new WireError(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' })
}

/** Unknown account or wrong password: the real server answers with HTTP 401, which reads so. */
export function unauthenticated(): WireError {
  return new WireError(status.UNAUTHENTICATED, 'Received HTTP status code 401')
}

/** The message of the real server, by which a writer knows that nothing was written. */
function notReady(why: string): WireError {
  return new WireError(status.UNAVAILABLE, `Server Is Not Ready: ${why}`)
}

export function stopping(): WireError {
  return notReady('the event store is stopping')
}

export function streamDeleted(stream: string): WireError {
  return new WireError(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  })
}

/** `expected` and `current` are numbers as the real server sends them: any -2, no stream -1. */
export function wrongExpectedVersion(
  stream: string,
  expected: number | string,
  current: number,
): WireError {
  return new WireError(
    status.FAILED_PRECONDITION,
    `Append failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: ${expected}, Actual version: ${current}`,
    {
      exception: 'wrong-expected-version',
      'stream-name': stream,
      'expected-version': String(expected),
      'actual-version': String(current),
    },
  )
}

export function maximumAppendSizeExceeded(): WireError {
  return new WireError(
    status.INVALID_ARGUMENT,
    `Maximum Append Size of ${MAX_APPEND_BYTES} Exceeded.`,
    {
      exception: 'maximum-append-size-exceeded',
      'maximum-append-size': String(MAX_APPEND_BYTES),
    },
  )
}

export function metadataPropertyMissing(property: string): WireError {
  return new WireError(
    status.INVALID_ARGUMENT,
    `Required Metadata Property '${property}' is missing`,
    {
      exception: 'missing-required-metadata-property',
      'required-metadata-properties': property,
    },
  )
}

/** Maps any error to one for the wire. An unexpected error keeps its message inside. */
export function toWireError(error: unknown): WireError {
  if (error instanceof WireError) return error
  if (!(error instanceof LogError)) {
    return new WireError(status.UNAVAILABLE, 'the event store could not carry out the call')
  }
  switch (error.code) {
    case 'queue_full':
      return tooManyError(`Server Is Too Busy: ${error.message}`)
    case 'not_writable':
    case 'closing':
      return notReady(error.message)
    // The real server answers a write whose outcome it does not know with ABORTED.
    case 'write_failed':
    case 'abandoned':
      return new WireError(status.ABORTED, error.message)
    case 'damaged':
      return new WireError(status.DATA_LOSS, error.message)
    case 'unsupported':
      return unimplemented(error.message)
  }
}

/** Trailers carry printable ASCII only. */
function printable(value: string): string {
  return value.replace(/[^\x20-\x7e]/gu, (char) => encodeURIComponent(char))
}
