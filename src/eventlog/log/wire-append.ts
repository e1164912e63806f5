import codePb from '@eventstore/db-client/generated/code_pb.js'
import type * as shared from '@eventstore/db-client/generated/shared_pb.js'
import sharedPb from '@eventstore/db-client/generated/shared_pb.js'
import type * as grpcStatus from '@eventstore/db-client/generated/status_pb.js'
import type * as streams from '@eventstore/db-client/generated/streams_pb.js'
import streamsPb from '@eventstore/db-client/generated/streams_pb.js'
import type { EncodedEvent } from './codec.ts'
import { isNotTaken, type TryFailure } from './failure.ts'
import type { ExpectedRevision } from './types.ts'
import { streamIdentifier } from './wire.ts'

/** One append; `stream` carries the namespace. */
export interface AppendCommand {
  readonly stream: string
  readonly events: readonly EncodedEvent[]
  readonly expected: ExpectedRevision
}

/** How one try ended. */
export type AppendAnswer =
  | { readonly kind: 'success'; readonly revision: bigint; readonly position: bigint | undefined }
  | TryFailure

const { AppendReq, BatchAppendReq } = streamsPb

function uuid(text: string): shared.UUID {
  const id = new sharedPb.UUID()
  id.setString(text)
  return id
}

function fill<M extends streams.AppendReq.ProposedMessage | streams.BatchAppendReq.ProposedMessage>(
  message: M,
  event: EncodedEvent,
): M {
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
  else if (expected === 'stream_exists') options.setStreamExists(new sharedPb.Empty())
  else options.setRevision(expected.toString(10))
  const header = new AppendReq()
  header.setOptions(options)
  const proposals = command.events.map((event) => {
    const request = new AppendReq()
    request.setProposedMessage(fill(new AppendReq.ProposedMessage(), event))
    return request
  })
  return [header, ...proposals]
}

/**
 * One append on a shared call. It names no deadline: that would be a time of our clock, which the
 * server's need not agree with; its own write timeout applies.
 */
export function batchRequest(
  command: AppendCommand,
  correlationId: string,
): streams.BatchAppendReq {
  const { expected } = command
  const options = new BatchAppendReq.Options()
  options.setStreamIdentifier(streamIdentifier(command.stream))
  // The generated types name another Empty than the one that is serialised; both are empty.
  const empty = () => new sharedPb.Empty() as unknown as Parameters<typeof options.setAny>[0]
  if (expected === 'any') options.setAny(empty())
  else if (expected === 'no_stream') options.setNoStream(empty())
  else if (expected === 'stream_exists') options.setStreamExists(empty())
  else options.setStreamPosition(expected.toString(10))
  const request = new BatchAppendReq()
  request.setCorrelationId(uuid(correlationId))
  request.setOptions(options)
  request.setProposedMessagesList(
    command.events.map((event) => fill(new BatchAppendReq.ProposedMessage(), event)),
  )
  request.setIsFinal(true)
  return request
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

/** The answer to an append on a shared call. */
export function batchAnswer(response: streams.BatchAppendResp): AppendAnswer {
  const error = response.getError()
  if (error !== undefined) return batchFailure(error)
  const success = response.getSuccess()
  if (success === undefined) return NEITHER
  return {
    kind: 'success',
    revision: BigInt(success.getCurrentRevision()),
    position: lastPosition(success.getPosition()),
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
  // A write timeout and whatever we do not know leave the outcome open.
  return { kind: 'transport', certain: isNotTaken(reason), retry: true, reason }
}
