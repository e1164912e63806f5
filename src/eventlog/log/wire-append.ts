import codePb from '@eventstore/db-client/generated/code_pb.js'
import type * as shared from '@eventstore/db-client/generated/shared_pb.js'
import sharedPb from '@eventstore/db-client/generated/shared_pb.js'
import type * as grpcStatus from '@eventstore/db-client/generated/status_pb.js'
import type * as streams from '@eventstore/db-client/generated/streams_pb.js'
import streamsPb from '@eventstore/db-client/generated/streams_pb.js'
import type { EncodedEvent } from './codec.ts'
import { isNotAccepted, type TryFailure } from './failure.ts'
import type { ExpectedRevision } from './types.ts'
import { streamIdentifier } from './wire.ts'
import {
  type Cursor,
  cursorOver,
  delimited,
  hasMore,
  numberBytes,
  readBigint,
  readField,
  readMessage,
  readNumber,
  readText,
  sizeOfField,
  skipField,
  varint,
  writeHead,
} from '../../kernel/protobuf.ts'

/** One append; `stream` carries the namespace. */
export interface AppendCommand {
  readonly stream: string
  readonly events: readonly EncodedEvent[]
  readonly expected: ExpectedRevision
}

/** The outcome of one attempt. */
export type AppendAnswer =
  | { readonly kind: 'success'; readonly revision: bigint; readonly position: bigint | undefined }
  | TryFailure

const { AppendReq } = streamsPb

function uuid(text: string): shared.UUID {
  const id = new sharedPb.UUID()
  id.setString(text)
  return id
}

function proposedMessage(event: EncodedEvent): streams.AppendReq.ProposedMessage {
  const message = new AppendReq.ProposedMessage()
  message.setId(uuid(event.id))
  message.getMetadataMap().set('type', event.type).set('content-type', 'application/json')
  message.setCustomMetadata(event.metadata)
  message.setData(event.data)
  return message
}

/** The messages of one unary append: the header, then one per event. */
export function unaryRequests(command: AppendCommand): readonly streams.AppendReq[] {
  const { expected } = command
  const options = new AppendReq.Options()
  options.setStreamIdentifier(streamIdentifier(command.stream))
  if (expected === 'any') options.setAny(new sharedPb.Empty())
  else if (expected === 'no_stream') options.setNoStream(new sharedPb.Empty())
  else options.setRevision(expected.toString(10))
  const header = new AppendReq()
  header.setOptions(options)
  const proposals = command.events.map((event) => {
    const request = new AppendReq()
    request.setProposedMessage(proposedMessage(event))
    return request
  })
  return [header, ...proposals]
}

/** Fields of a proposed message, and of the text id and the map entries in it. */
const FIRST = delimited(1)
const SECOND = delimited(2)
const CUSTOM_METADATA = delimited(3)
const DATA = delimited(4)
/** `proposed_messages` of a request. */
const PROPOSED = delimited(3)
const UUID_BYTES = 36

/** An entry of the map that describes an event. */
function entry(name: string, value: string): Buffer {
  const names = Buffer.from(name)
  const values = Buffer.from(value)
  const length = sizeOfField(names.length) + sizeOfField(values.length)
  const bytes = Buffer.alloc(sizeOfField(length))
  let at = writeHead(bytes, 0, SECOND, length)
  at = writeHead(bytes, at, FIRST, names.length)
  at += names.copy(bytes, at)
  at = writeHead(bytes, at, SECOND, values.length)
  values.copy(bytes, at)
  return bytes
}

const CONTENT_TYPE = entry('content-type', 'application/json')
/** Entries by type: there are as many as there are types of event. */
const typeEntries = new Map<string, Buffer>()

function typeEntry(type: string): Buffer {
  const known = typeEntries.get(type)
  if (known !== undefined) return known
  const made = entry('type', type)
  typeEntries.set(type, made)
  return made
}

function proposedBytes(event: EncodedEvent): number {
  return (
    sizeOfField(sizeOfField(UUID_BYTES)) +
    typeEntry(event.type).length +
    CONTENT_TYPE.length +
    sizeOfField(event.metadata.length) +
    sizeOfField(event.data.length)
  )
}

function writeProposed(target: Buffer, from: number, event: EncodedEvent): number {
  let at = writeHead(target, from, PROPOSED, proposedBytes(event))
  at = writeHead(target, at, FIRST, sizeOfField(UUID_BYTES))
  at = writeHead(target, at, SECOND, UUID_BYTES)
  at += target.write(event.id, at, 'latin1')
  at += typeEntry(event.type).copy(target, at)
  at += CONTENT_TYPE.copy(target, at)
  at = writeHead(target, at, CUSTOM_METADATA, event.metadata.length)
  target.set(event.metadata, at)
  at += event.metadata.length
  at = writeHead(target, at, DATA, event.data.length)
  target.set(event.data, at)
  return at + event.data.length
}

/** Fields of the options of a request: the stream, and the revision that is expected of it. */
const STREAM = delimited(1)
const STREAM_NAME = delimited(3)
const EXPECTED = varint(2)
const EXPECTED_NO_STREAM = delimited(3)
const EXPECTED_ANY = delimited(4)
/** `is_final` of a request. */
const IS_FINAL = varint(4)

/** The content of the field of the expected revision: the number, or an empty message. */
function expectedBytes(expected: ExpectedRevision): readonly number[] {
  if (expected === 'any') return [EXPECTED_ANY, 0]
  if (expected === 'no_stream') return [EXPECTED_NO_STREAM, 0]
  return [EXPECTED, ...numberBytes(expected)]
}

/**
 * One append on a shared call, as bytes: message objects for each would cost more than writing them.
 * It has no deadline, which would be a time of the gateway's clock, and the server's clock may
 * differ; the server's write timeout applies.
 */
export function batchRequest(command: AppendCommand, correlationId: string): Buffer {
  const stream = Buffer.from(command.stream)
  const expected = expectedBytes(command.expected)
  const identifierLength = sizeOfField(stream.length)
  const optionsLength = sizeOfField(identifierLength) + expected.length
  const idLength = sizeOfField(UUID_BYTES)
  let length = sizeOfField(idLength) + sizeOfField(optionsLength) + 2
  for (const event of command.events) length += sizeOfField(proposedBytes(event))
  const bytes = Buffer.allocUnsafe(length)
  let at = writeHead(bytes, 0, FIRST, idLength)
  at = writeHead(bytes, at, SECOND, UUID_BYTES)
  at += bytes.write(correlationId, at, 'latin1')
  at = writeHead(bytes, at, SECOND, optionsLength)
  at = writeHead(bytes, at, STREAM, identifierLength)
  at = writeHead(bytes, at, STREAM_NAME, stream.length)
  bytes.set(stream, at)
  at += stream.length
  bytes.set(expected, at)
  at += expected.length
  for (const event of command.events) at = writeProposed(bytes, at, event)
  writeHead(bytes, at, IS_FINAL, 1)
  return bytes
}

function lastPosition(
  position: { readonly getCommitPosition: () => string } | undefined,
): bigint | undefined {
  return position === undefined ? undefined : BigInt(position.getCommitPosition())
}

const NEITHER: TryFailure = {
  kind: 'transport',
  certain: false,
  retry: true,
  reason: 'the log answered an append with neither outcome',
}

/** The answer to a unary append. */
export function unaryAnswer(response: streams.AppendResp): AppendAnswer {
  const wrong = response.getWrongExpectedVersion()
  if (wrong !== undefined)
    return {
      kind: 'wrong_revision',
      actual: wrong.hasCurrentRevision() ? BigInt(wrong.getCurrentRevision()) : 'no_stream',
    }
  const success = response.getSuccess()
  if (success === undefined) return NEITHER
  return {
    kind: 'success',
    revision: BigInt(success.getCurrentRevision()),
    position: lastPosition(success.getPosition()),
  }
}

/** An answer on a shared call: the id of its append, and how that ended. */
export interface BatchAnswer {
  readonly id: string
  readonly answer: AppendAnswer
}

/** Fields of an answer on a shared call, after the id of its append. */
const ERROR = delimited(2)
const SUCCESS = delimited(3)
/** Fields of a success, and of the position in it. */
const CURRENT_REVISION = varint(1)
const POSITION = delimited(3)
const COMMIT = varint(1)

/** Reads an answer; failures, which are few, by the generated classes. @throws RangeError when it is cut off */
export function readBatchAnswer(bytes: Buffer): BatchAnswer {
  const cursor = cursorOver(bytes)
  let id = ''
  let answer: AppendAnswer = NEITHER
  while (hasMore(cursor)) {
    const key = readNumber(cursor)
    if (key === ERROR) return readBatchFailure(bytes)
    // The server writes ids as the gateway does, as text.
    if (key === FIRST) id = readField(readMessage(cursor), SECOND, readText) ?? ''
    else if (key === SUCCESS) answer = readSuccess(readMessage(cursor))
    else skipField(cursor, key)
  }
  return { id, answer }
}

function readSuccess(cursor: Cursor): AppendAnswer {
  let revision = 0n
  let position: bigint | undefined
  while (hasMore(cursor)) {
    const key = readNumber(cursor)
    if (key === CURRENT_REVISION) revision = readBigint(cursor)
    else if (key === POSITION) position = readField(readMessage(cursor), COMMIT, readBigint) ?? 0n
    else skipField(cursor, key)
  }
  return { kind: 'success', revision, position }
}

function readBatchFailure(bytes: Buffer): BatchAnswer {
  const response = streamsPb.BatchAppendResp.deserializeBinary(bytes)
  const error = response.getError()
  return {
    id: response.getCorrelationId()?.getString() ?? '',
    answer: error === undefined ? NEITHER : batchFailure(error),
  }
}

function batchFailure(error: grpcStatus.Status): TryFailure {
  const reason = error.getMessage().slice(0, 300)
  const details = error.getDetails()
  const type = details?.getTypeName().replace('event_store.client.', '')
  const bytes = details?.getValue_asU8() ?? new Uint8Array()
  if (type === 'WrongExpectedVersion') {
    const wrong = sharedPb.WrongExpectedVersion.deserializeBinary(bytes)
    return {
      kind: 'wrong_revision',
      actual: wrong.hasCurrentStreamRevision()
        ? BigInt(wrong.getCurrentStreamRevision())
        : 'no_stream',
    }
  }
  if (type === 'StreamDeleted') return { kind: 'wrong_revision', actual: 'deleted' }
  if (type === 'MaximumAppendSizeExceeded') {
    const exceeded = sharedPb.MaximumAppendSizeExceeded.deserializeBinary(bytes)
    return { kind: 'too_large', limitBytes: exceeded.getMaxappendsize() }
  }
  if (type === 'AccessDenied' || error.getCode() === codePb.Code.PERMISSION_DENIED)
    return { kind: 'denied', reason }
  if (error.getCode() === codePb.Code.INVALID_ARGUMENT) return { kind: 'rejected', reason }
  if (error.getCode() === codePb.Code.DATA_LOSS) return { kind: 'damaged', reason }
  // After a write timeout, or an error that the gateway does not know, the outcome is unknown.
  return { kind: 'transport', certain: isNotAccepted(reason), retry: true, reason }
}
