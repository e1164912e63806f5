/**
 * Answers of `BatchAppend`. Errors travel inside the message, as a status with typed details;
 * the client fails on a status without details, so every one has them.
 */

import codePb from '@eventstore/db-client/generated/code_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import statusPb from '@eventstore/db-client/generated/status_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { status } from '@grpc/grpc-js'
import anyPb from 'google-protobuf/google/protobuf/any_pb.js'
import emptyPb from 'google-protobuf/google/protobuf/empty_pb.js'
import type { WireError } from './errors.ts'
import { MAX_APPEND_BYTES } from './limits.ts'
import type { CommandOutcome, ExpectedRevision } from './types.ts'
import { streamIdentifier } from './wire.ts'

/** Target of an append of the batch. */
export interface BatchTarget {
  readonly correlationId: shared.UUID
  readonly stream: string
  readonly expected: ExpectedRevision
  readonly deadlineMs: number
}

/** The answer to an append that was decided. */
export function outcomeResponse(
  target: BatchTarget,
  outcome: CommandOutcome,
): streams.BatchAppendResp {
  const response = responseTo(target.correlationId, target)
  switch (outcome.kind) {
    case 'done':
      return response.setSuccess(success(outcome.revision, outcome.position))
    case 'wrong_expected_revision':
      return response.setError(
        errorStatus(
          status.FAILED_PRECONDITION,
          'WrongExpectedVersion',
          'WrongExpectedVersion',
          wrongVersion(target.expected, outcome.current).serializeBinary(),
        ),
      )
    case 'stream_deleted':
      return response.setError(
        errorStatus(
          status.FAILED_PRECONDITION,
          'StreamDeleted',
          'StreamDeleted',
          new shared.StreamDeleted()
            .setStreamIdentifier(streamIdentifier(target.stream))
            .serializeBinary(),
        ),
      )
  }
}

/** The answer to an append that could not be decided. */
export function failureResponse(
  correlationId: shared.UUID,
  target: BatchTarget | undefined,
  error: WireError,
): streams.BatchAppendResp {
  return responseTo(correlationId, target).setError(failureStatus(error))
}

function failureStatus(error: WireError): statusPb.Status {
  const exception = error.metadata.get('exception')[0]
  if (exception === 'maximum-append-size-exceeded') {
    const details = new shared.MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_BYTES)
    return errorStatus(
      error.code,
      error.details,
      'MaximumAppendSizeExceeded',
      details.serializeBinary(),
    )
  }
  // A write whose outcome is unknown, or that was given up on, is a timeout to the client.
  if (error.code === status.ABORTED) {
    return errorStatus(error.code, error.details, 'Timeout', new shared.Timeout().serializeBinary())
  }
  if (exception === 'access-denied') {
    const details = new shared.AccessDenied().serializeBinary()
    return errorStatus(error.code, 'AccessDenied', 'AccessDenied', details)
  }
  // Not ready, or no leader: words alone, without a code, as the real server says it.
  if (error.code === status.UNAVAILABLE || error.code === status.UNKNOWN) {
    const nothing = new anyPb.Any()
    nothing.pack(new emptyPb.Empty().serializeBinary(), 'google.protobuf.Empty')
    return new statusPb.Status().setMessage(error.details).setDetails(nothing)
  }
  if (error.code === status.INVALID_ARGUMENT) {
    const details = new shared.BadRequest().setMessage(error.details)
    return errorStatus(error.code, error.details, 'BadRequest', details.serializeBinary())
  }
  return errorStatus(error.code, error.details, 'Unknown', new shared.Unknown().serializeBinary())
}

function errorStatus(
  code: status,
  message: string,
  type: string,
  details: Uint8Array,
): statusPb.Status {
  const packed = new anyPb.Any()
  packed.pack(details, `event_store.client.${type}`)
  return new statusPb.Status()
    .setCode(codePb.Code[status[code] as keyof typeof codePb.Code])
    .setMessage(message)
    .setDetails(packed)
}

function responseTo(
  correlationId: shared.UUID,
  target: BatchTarget | undefined,
): streams.BatchAppendResp {
  const response = new streams.BatchAppendResp().setCorrelationId(correlationId)
  // The client reads the stream name of every error it is sent.
  response.setStreamIdentifier(streamIdentifier(target?.stream ?? ''))
  switch (target?.expected.kind) {
    case 'any':
      return response.setAny(new emptyPb.Empty())
    case 'no_stream':
      return response.setNoStream(new emptyPb.Empty())
    case 'stream_exists':
      return response.setStreamExists(new emptyPb.Empty())
    case 'revision':
      return response.setStreamPosition(target.expected.text)
    case undefined:
      return response
  }
}

function success(revision: number, position: number | undefined): streams.BatchAppendResp.Success {
  const message = new streams.BatchAppendResp.Success()
  if (revision < 0) message.setNoStream(new emptyPb.Empty())
  else message.setCurrentRevision(String(revision))
  if (position === undefined) return message.setNoPosition(new emptyPb.Empty())
  const at = new shared.AllStreamPosition()
  at.setCommitPosition(String(position))
  at.setPreparePosition(String(position))
  return message.setPosition(at)
}

function wrongVersion(expected: ExpectedRevision, current: number): shared.WrongExpectedVersion {
  const wrong = new shared.WrongExpectedVersion()
  if (current < 0) wrong.setCurrentNoStream(new emptyPb.Empty())
  else wrong.setCurrentStreamRevision(String(current))
  switch (expected.kind) {
    case 'any':
      return wrong.setExpectedAny(new emptyPb.Empty())
    case 'no_stream':
      return wrong.setExpectedNoStream(new emptyPb.Empty())
    case 'stream_exists':
      return wrong.setExpectedStreamExists(new emptyPb.Empty())
    case 'revision':
      return wrong.setExpectedStreamPosition(expected.text)
  }
}
