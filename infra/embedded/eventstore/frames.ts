/**
 * Answers of `Streams.Read` as ready gRPC frames, several to a write.
 *
 * Records are stored framed, so serving them is copying. grpc-js frames exactly one message per
 * write: it allocates `byteLength + 5`, writes a five-byte prefix and lets the serialised value
 * copy itself behind it. `JoinedFrames` stands in for that value and copies over the prefix too,
 * which puts any number of frames into one HTTP/2 write. The read tests of the contract suite
 * fail at once should grpc-js ever do this differently.
 */

import streams from '@eventstore/db-client/generated/streams_pb.js'
import { type LogPosition, wireNumber } from './position.ts'
import { streamIdentifier } from './wire.ts'

const PREFIX_BYTES = 5

/** One or more complete frames, sent as one write. */
export class JoinedFrames {
  readonly byteLength: number
  readonly #frames: readonly Buffer[]

  constructor(frames: readonly Buffer[]) {
    this.#frames = frames
    let total = 0
    for (const frame of frames) total += frame.length
    this.byteLength = total - PREFIX_BYTES
  }

  copy(target: Buffer): number {
    let at = 0
    for (const frame of this.#frames) at += frame.copy(target, at)
    return at
  }
}

/** Serializer for the service definition: returns what grpc-js treats as the serialised message. */
export function serializeFrames(frames: JoinedFrames): Buffer {
  return frames as unknown as Buffer
}

/** Says that a subscription is established. */
export function confirmationFrame(subscriptionId: string): Buffer {
  const confirmation = new streams.ReadResp.SubscriptionConfirmation()
  confirmation.setSubscriptionId(subscriptionId)
  return frame(new streams.ReadResp().setConfirmation(confirmation))
}

/** Says that everything up to a position was considered. */
export function checkpointFrame(position: LogPosition): Buffer {
  const checkpoint = new streams.ReadResp.Checkpoint()
  checkpoint.setCommitPosition(wireNumber(position.commit))
  checkpoint.setPreparePosition(wireNumber(position.prepare))
  return frame(new streams.ReadResp().setCheckpoint(checkpoint))
}

/** Announces that a subscription has caught up. */
export function caughtUpFrame(): Buffer {
  return frame(new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp()))
}

/** Says that a stream to be read does not exist. */
export function streamNotFoundFrame(stream: string): Buffer {
  const notFound = new streams.ReadResp.StreamNotFound()
  notFound.setStreamIdentifier(streamIdentifier(stream))
  return frame(new streams.ReadResp().setStreamNotFound(notFound))
}

function frame(message: streams.ReadResp): Buffer {
  const bytes = message.serializeBinary()
  const framed = Buffer.alloc(PREFIX_BYTES + bytes.length)
  framed.writeUInt32BE(bytes.length, 1)
  framed.set(bytes, PREFIX_BYTES)
  return framed
}
