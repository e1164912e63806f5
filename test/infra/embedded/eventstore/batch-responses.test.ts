import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import * as fc from 'fast-check'
import emptyPb from 'google-protobuf/google/protobuf/empty_pb.js'
import t from 'tap'
import { outcomeResponse } from '../../../../infra/embedded/eventstore/batch-responses.ts'
import type { ExpectedRevision } from '../../../../infra/embedded/eventstore/types.ts'
import { exactRevision } from '../../../../infra/embedded/eventstore/wire.ts'
import { character } from '../../../helpers/characters.ts'

/** The generated classes are the protocol: an answer is the bytes that they would write. */

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const id = fc.oneof(
  fc.uuid().map((text) => new shared.UUID().setString(text)),
  fc.tuple(int64, int64).map(([high, low]) => {
    const numbers = new shared.UUID.Structured()
    numbers.setMostSignificantBits(String(high)).setLeastSignificantBits(String(low))
    return new shared.UUID().setStructured(numbers)
  }),
)
const expectation = fc.oneof(
  fc.constantFrom<ExpectedRevision>(
    { kind: 'any' },
    { kind: 'no_stream' },
    { kind: 'stream_exists' },
  ),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((revision) => exactRevision(String(revision))),
)
const stored = fc.oneof(fc.nat({ max: 300 }), fc.maxSafeNat())

function setExpected(answer: streams.BatchAppendResp, expected: ExpectedRevision): void {
  const empty = new emptyPb.Empty()
  if (expected.kind === 'any') answer.setAny(empty)
  else if (expected.kind === 'no_stream') answer.setNoStream(empty)
  else if (expected.kind === 'stream_exists') answer.setStreamExists(empty)
  else answer.setStreamPosition(expected.text)
}

t.test(
  'an append that is stored is answered with the bytes of the generated classes',
  async (t) => {
    fc.assert(
      fc.property(
        id,
        fc.string({ unit: character, minLength: 1, maxLength: 200 }),
        expectation,
        fc.oneof(fc.constant(-1), stored),
        fc.option(stored, { nil: undefined }),
        (correlationId, stream, expected, revision, position) => {
          const success = new streams.BatchAppendResp.Success()
          if (revision < 0) success.setNoStream(new emptyPb.Empty())
          else success.setCurrentRevision(String(revision))
          const at = new shared.AllStreamPosition()
          at.setCommitPosition(String(position)).setPreparePosition(String(position))
          if (position === undefined) success.setNoPosition(new emptyPb.Empty())
          else success.setPosition(at)
          const answer = new streams.BatchAppendResp().setCorrelationId(correlationId)
          const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
          answer.setSuccess(success).setStreamIdentifier(identifier)
          setExpected(answer, expected)
          const target = { correlationId, stream, expected, deadlineMs: 0 }
          const written = outcomeResponse(target, { kind: 'done', revision, position })
          t.same(written, Buffer.from(answer.serializeBinary()))
        },
      ),
    )
  },
)
