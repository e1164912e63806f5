import type { WireEvent } from './codec.ts'
import type { LogPosition } from './position.ts'
import {
  cursorOver,
  delimited,
  hasMore,
  readBigint,
  readBytes,
  readField,
  readMessage,
  readNumber,
  readText,
  skipField,
  varint,
  type Cursor,
} from '../../kernel/protobuf.ts'

/** The answers of the log to a read; the gateway ignores `other`. */
export type ReadAnswer =
  | {
      readonly kind: 'event'
      /** Name of its stream, including the namespace. */
      readonly event: WireEvent
      readonly at: LogPosition
    }
  | { readonly kind: 'checkpoint'; readonly at: LogPosition }
  | { readonly kind: 'confirmation' | 'caughtUp' | 'streamNotFound' | 'other' }

/** Ticks are 100 ns. */
const TICKS_PER_MS = 10_000
const NO_BYTES = Buffer.alloc(0)

/** Fields of `ReadResp`. */
const EVENT = delimited(1)
const CONFIRMATION = delimited(2)
const CHECKPOINT = delimited(3)
const STREAM_NOT_FOUND = delimited(4)
const CAUGHT_UP = delimited(8)

/** Reads one answer. @throws RangeError if the bytes are no answer */
export function readAnswer(bytes: Buffer): ReadAnswer {
  const cursor = cursorOver(bytes)
  let answer: ReadAnswer = { kind: 'other' }
  while (hasMore(cursor)) {
    const key = readNumber(cursor)
    switch (key) {
      case EVENT:
        answer = readEvent(readMessage(cursor)) ?? answer
        break
      case CHECKPOINT:
        answer = { kind: 'checkpoint', at: readPlace(readMessage(cursor)) }
        break
      case CONFIRMATION:
        readMessage(cursor)
        answer = { kind: 'confirmation' }
        break
      case STREAM_NOT_FOUND:
        readMessage(cursor)
        answer = { kind: 'streamNotFound' }
        break
      case CAUGHT_UP:
        readMessage(cursor)
        answer = { kind: 'caughtUp' }
        break
      default:
        skipField(cursor, key)
    }
  }
  return answer
}

/** Commit and prepare, the first two fields. */
function readPlace(cursor: Cursor): LogPosition {
  let commit = 0n
  let prepare = 0n
  while (hasMore(cursor)) {
    const key = readNumber(cursor)
    if (key === varint(1)) commit = readBigint(cursor)
    else if (key === varint(2)) prepare = readBigint(cursor)
    else skipField(cursor, key)
  }
  return { commit, prepare }
}

/** The event itself; undefined if there is only a link to it. */
function readEvent(cursor: Cursor): ReadAnswer | undefined {
  return readField(cursor, delimited(1), (at) => readRecorded(readMessage(at)))
}

/** Fields of `RecordedEvent`. */
const ID = delimited(1)
const STREAM = delimited(2)
const REVISION = varint(3)
const PREPARE = varint(4)
const COMMIT = varint(5)
const METADATA = delimited(6)
const CUSTOM_METADATA = delimited(7)
const DATA = delimited(8)

function readRecorded(cursor: Cursor): ReadAnswer {
  const said = { type: '', ticks: '0' }
  let id = ''
  let stream = ''
  let revision = 0n
  let commit = 0n
  let prepare = 0n
  let metadata: Buffer = NO_BYTES
  let data: Buffer = NO_BYTES
  while (hasMore(cursor)) {
    const key = readNumber(cursor)
    switch (key) {
      case ID:
        id = readField(readMessage(cursor), delimited(2), readText) ?? ''
        break
      case STREAM:
        stream = readField(readMessage(cursor), delimited(3), readText) ?? ''
        break
      case REVISION:
        revision = readBigint(cursor)
        break
      case PREPARE:
        prepare = readBigint(cursor)
        break
      case COMMIT:
        commit = readBigint(cursor)
        break
      case METADATA:
        readLogMetadata(readMessage(cursor), said)
        break
      case CUSTOM_METADATA:
        metadata = readBytes(cursor)
        break
      case DATA:
        data = readBytes(cursor)
        break
      default:
        skipField(cursor, key)
    }
  }
  const recordedAt = new Date(Math.floor(Number(said.ticks) / TICKS_PER_MS))
  const { type } = said
  return {
    kind: 'event',
    event: { id, type, data, metadata, stream, revision, position: commit, recordedAt },
    at: { commit, prepare },
  }
}

/** One entry of the log's metadata of an event. */
function readLogMetadata(cursor: Cursor, said: { type: string; ticks: string }): void {
  let name = ''
  let value = ''
  while (hasMore(cursor)) {
    const key = readNumber(cursor)
    if (key === delimited(1)) name = readText(cursor)
    else if (key === delimited(2)) value = readText(cursor)
    else skipField(cursor, key)
  }
  if (name === 'type') said.type = value
  else if (name === 'created') said.ticks = value
}
