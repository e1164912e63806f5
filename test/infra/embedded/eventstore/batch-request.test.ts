import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import * as fc from 'fast-check'
import t from 'tap'
import { readBatchRequest } from '../../../../infra/embedded/eventstore/batch-request.ts'
import { character } from '../../../helpers/characters.ts'

/** The generated classes are the protocol: whatever they write is read as they would read it. */

const bytes = fc.uint8Array({ maxLength: 300 })
const text = fc.string({ unit: character, maxLength: 200 })

function textId(id: string): shared.UUID {
  return new shared.UUID().setString(id)
}

t.test('a request is read with its events, of any content', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ id: fc.uuid(), type: text, data: bytes, metadata: bytes }), {
        maxLength: 5,
      }),
      fc.uuid(),
      fc.boolean(),
      (given, correlationId, isFinal) => {
        const request = new streams.BatchAppendReq()
        request.setCorrelationId(textId(correlationId)).setIsFinal(isFinal)
        const options = new streams.BatchAppendReq.Options().setStreamPosition('7')
        const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from('some'))
        request.setOptions(options.setStreamIdentifier(identifier))
        for (const { id, type, data, metadata } of given) {
          const message = new streams.BatchAppendReq.ProposedMessage().setId(textId(id))
          message.getMetadataMap().set('type', type).set('content-type', 'application/json')
          request.addProposedMessages(message.setData(data).setCustomMetadata(metadata))
        }
        const { head, proposed } = readBatchRequest(Buffer.from(request.serializeBinary()))
        t.equal(head.getCorrelationId()?.getString(), correlationId)
        t.equal(head.getIsFinal(), isFinal)
        t.equal(head.getOptions()?.getStreamPosition(), '7')
        t.same(head.getProposedMessagesList(), [])
        t.same(
          proposed.map((event) => ({
            ...event,
            data: Buffer.from(event.data),
            metadata: Buffer.from(event.metadata),
          })),
          given.map(({ id, type, data, metadata }) => ({
            id,
            type,
            contentType: 'application/json',
            data: Buffer.from(data),
            metadata: Buffer.from(metadata),
          })),
        )
      },
    ),
  )
})

t.test('an id of two integers is read, an invalid id is undefined', async (t) => {
  const idOf = (id: shared.UUID): string | undefined => {
    const request = new streams.BatchAppendReq()
    request.addProposedMessages(new streams.BatchAppendReq.ProposedMessage().setId(id))
    return readBatchRequest(Buffer.from(request.serializeBinary())).proposed[0]?.id
  }
  const numbers = new shared.UUID.Structured()
  numbers.setMostSignificantBits('1').setLeastSignificantBits('-1')
  t.equal(idOf(new shared.UUID().setStructured(numbers)), '00000000-0000-0001-ffff-ffffffffffff')
  t.equal(idOf(textId('nobody')), undefined)
})

t.test('a truncated request is refused', async (t) => {
  const message = new streams.BatchAppendReq.ProposedMessage().setData(Buffer.from('some data'))
  const request = new streams.BatchAppendReq()
  request.addProposedMessages(message)
  const whole = Buffer.from(request.serializeBinary())
  for (let length = 1; length < whole.length; length += 1)
    t.throws(() => readBatchRequest(whole.subarray(0, length)), RangeError, `${length} bytes`)
})
