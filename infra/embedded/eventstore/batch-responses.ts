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
import {
  delimited,
  numberBytes,
  sizeOfField,
  varint,
  writeHead,
} from '../../../src/kernel/protobuf.ts'
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

/** The answer to an append that was decided, as bytes. */
export function outcomeResponse(target: BatchTarget, outcome: CommandOutcome): Buffer {
  switch (outcome.kind) {
    case 'done':
      return successResponse(target, outcome.revision, outcome.position)
    case 'wrong_expected_revision':
      return errorResponse(
        target.correlationId,
        target,
        errorStatus(
          status.FAILED_PRECONDITION,
          'WrongExpectedVersion',
          'WrongExpectedVersion',
          wrongVersion(target.expected, outcome.current).serializeBinary(),
        ),
      )
    case 'stream_deleted':
      return errorResponse(
        target.correlationId,
        target,
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

/** The answer to an append that could not be decided, as bytes. */
export function failureResponse(
  correlationId: shared.UUID,
  target: BatchTarget | undefined,
  error: WireError,
): Buffer {
  return errorResponse(correlationId, target, failureStatus(error))
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

function errorResponse(
  correlationId: shared.UUID,
  target: BatchTarget | undefined,
  error: statusPb.Status,
): Buffer {
  return Buffer.from(responseTo(correlationId, target).setError(error).serializeBinary())
}

/** Fields of an answer. */
const CORRELATION_ID = delimited(1)
const SUCCESS = delimited(3)
const STREAM_IDENTIFIER = delimited(4)
const STREAM_POSITION = varint(5)
const NO_STREAM = delimited(6)
const ANY = delimited(7)
const STREAM_EXISTS = delimited(8)
const STREAM_NAME = delimited(3)
/** Fields of a success, and of the position in it. */
const CURRENT_REVISION = varint(1)
const CURRENT_NO_STREAM = delimited(2)
const POSITION = delimited(3)
const NO_POSITION = delimited(4)
const COMMIT = varint(1)
const PREPARE = varint(2)

/** The answer of nearly every append, as the generated classes write it: with message objects it costs four times as much. */
function successResponse(
  { correlationId, stream, expected }: BatchTarget,
  revision: number,
  position: number | undefined,
): Buffer {
  const id = correlationId.serializeBinary()
  const name = Buffer.from(stream)
  const success = successBytes(revision, position)
  const named = expectedBytes(expected)
  const identifierLength = sizeOfField(name.length)
  const length = sizeOfField(id.length) + sizeOfField(success.length) + named.length
  const bytes = Buffer.allocUnsafe(length + sizeOfField(identifierLength))
  let at = writeHead(bytes, 0, CORRELATION_ID, id.length)
  bytes.set(id, at)
  at = writeHead(bytes, at + id.length, SUCCESS, success.length)
  bytes.set(success, at)
  at = writeHead(bytes, at + success.length, STREAM_IDENTIFIER, identifierLength)
  at = writeHead(bytes, at, STREAM_NAME, name.length)
  bytes.set(name, at)
  bytes.set(named, at + name.length)
  return bytes
}

function successBytes(revision: number, position: number | undefined): readonly number[] {
  const current =
    revision < 0 ? [CURRENT_NO_STREAM, 0] : [CURRENT_REVISION, ...numberBytes(BigInt(revision))]
  if (position === undefined) return [...current, NO_POSITION, 0]
  const number = numberBytes(BigInt(position))
  // The classes leave out a number that is zero.
  const pair = position === 0 ? [] : [COMMIT, ...number, PREPARE, ...number]
  return [...current, POSITION, pair.length, ...pair]
}

/** The revision that the request expected, which its answer repeats. */
function expectedBytes(expected: ExpectedRevision): readonly number[] {
  switch (expected.kind) {
    case 'any':
      return [ANY, 0]
    case 'no_stream':
      return [NO_STREAM, 0]
    case 'stream_exists':
      return [STREAM_EXISTS, 0]
    case 'revision':
      return [STREAM_POSITION, ...numberBytes(BigInt(expected.text))]
  }
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
