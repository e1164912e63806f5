import * as fc from 'fast-check'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import t from 'tap'
import {
  encodeRecord,
  recordFrame,
  recordFrameStructured,
  recordId,
  recordPosition,
  recordRevision,
  recordStream,
  recordType,
} from '../../../../infra/embedded/eventstore/record.ts'
import { character } from '../../../helpers/characters.ts'

const number = fc.oneof(
  fc.nat(),
  fc.maxSafeNat(),
  fc.constantFrom(0, 127, 128, 2 ** 32, 2 ** 53 - 1),
)
const input = fc.record({
  id: fc.uuid(),
  stream: fc.string({ minLength: 1, unit: character, maxLength: 300 }),
  type: fc.string({ minLength: 1, unit: character, maxLength: 300 }),
  isJson: fc.boolean(),
  data: fc.uint8Array({ maxLength: 40_000, size: 'max' }),
  metadata: fc.uint8Array({ maxLength: 500 }),
  createdMs: fc.nat({ max: 4_102_444_800_000 }),
  revision: number,
  position: number,
})

function parse(frame: Buffer): streams.ReadResp.ReadEvent | undefined {
  t.equal(frame.readUInt32BE(1), frame.length - 5, 'the frame says its length')
  return streams.ReadResp.deserializeBinary(frame.subarray(5)).getEvent()
}

t.test('a stored record is the message the protocol defines, whatever the event', async (t) => {
  let checked = 0
  fc.assert(
    fc.property(input, (event) => {
      const record = encodeRecord({ ...event, stream: Buffer.from(event.stream) })
      const text = parse(recordFrame(record))
      const structured = parse(recordFrameStructured(record))
      for (const read of [text, structured]) {
        const recorded = read?.getEvent()
        const properties = recorded?.getMetadataMap()
        const found = {
          stream: Buffer.from(recorded?.getStreamIdentifier()?.getStreamName_asU8() ?? []),
          revision: recorded?.getStreamRevision(),
          commit: recorded?.getCommitPosition(),
          prepare: recorded?.getPreparePosition(),
          outer: read?.getCommitPosition(),
          type: properties?.get('type'),
          contentType: properties?.get('content-type'),
          created: properties?.get('created'),
          data: Buffer.from(recorded?.getData_asU8() ?? []),
          metadata: Buffer.from(recorded?.getCustomMetadata_asU8() ?? []),
        }
        t.same(found, {
          stream: Buffer.from(event.stream),
          revision: String(event.revision),
          commit: String(event.position),
          prepare: String(event.position),
          outer: String(event.position),
          type: event.type,
          contentType: event.isJson ? 'application/json' : 'application/octet-stream',
          created: `${event.createdMs}0000`,
          data: Buffer.from(event.data),
          metadata: Buffer.from(event.metadata),
        })
      }
      t.equal(text?.getEvent()?.getId()?.getString(), event.id)
      const id = structured?.getEvent()?.getId()?.getStructured()
      const hex = [id?.getMostSignificantBits(), id?.getLeastSignificantBits()]
        .map((part) =>
          BigInt.asUintN(64, BigInt(part ?? 0))
            .toString(16)
            .padStart(16, '0'),
        )
        .join('')
      t.equal(hex, event.id.replaceAll('-', ''))
      t.equal(recordId(record), event.id)
      t.equal(recordPosition(record), event.position)
      t.equal(recordRevision(record), event.revision)
      t.equal(recordStream(record).toString(), Buffer.from(event.stream).toString())
      t.equal(recordType(record).toString(), Buffer.from(event.type).toString())
      checked += 1
    }),
    { numRuns: 100 },
  )
  t.equal(checked, 100)
})
