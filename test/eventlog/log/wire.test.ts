import sharedPb from '@eventstore/db-client/generated/shared_pb.js'
import streamsPb from '@eventstore/db-client/generated/streams_pb.js'
import * as fc from 'fast-check'
import t from 'tap'
import type { EncodedEvent } from '../../../src/eventlog/log/codec.ts'
import { batchRequest, readBatchAnswer } from '../../../src/eventlog/log/wire-append.ts'
import { readAnswer } from '../../../src/eventlog/log/wire-read.ts'
import { character } from '../../helpers/characters.ts'

/** The generated classes are the protocol; ours must say and understand the same. */

const { ReadResp, BatchAppendReq, BatchAppendResp } = streamsPb
const MAX_UINT64 = 2n ** 64n - 1n

const uint64 = fc.oneof(
  fc.bigInt({ min: 0n, max: MAX_UINT64 }),
  fc.bigInt({ min: 0n, max: 1_000n }),
  fc.constantFrom(0n, 127n, 128n, 2n ** 49n - 1n, 2n ** 49n, 2n ** 53n, 2n ** 63n, MAX_UINT64),
)
const bytes = fc.uint8Array({ maxLength: 300 })
const text = fc.string({ unit: character, maxLength: 200 })

t.test('an event is read as the generated classes wrote it', async (t) => {
  fc.assert(
    fc.property(
      fc.record({
        id: fc.uuid(),
        stream: text,
        type: text,
        revision: uint64,
        commit: uint64,
        prepare: uint64,
        data: bytes,
        metadata: bytes,
        createdMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
      }),
      (given) => {
        const recorded = new ReadResp.ReadEvent.RecordedEvent()
        const id = new sharedPb.UUID()
        id.setString(given.id)
        recorded.setId(id)
        const identifier = new sharedPb.StreamIdentifier()
        identifier.setStreamName(Buffer.from(given.stream))
        recorded.setStreamIdentifier(identifier)
        recorded.setStreamRevision(given.revision.toString())
        recorded.setCommitPosition(given.commit.toString())
        recorded.setPreparePosition(given.prepare.toString())
        recorded
          .getMetadataMap()
          .set('type', given.type)
          .set('content-type', 'application/json')
          .set('created', `${given.createdMs}0000`)
        recorded.setCustomMetadata(given.metadata)
        recorded.setData(given.data)
        const event = new ReadResp.ReadEvent()
        event.setEvent(recorded)
        event.setCommitPosition(given.commit.toString())
        const response = new ReadResp()
        response.setEvent(event)
        const answer = readAnswer(Buffer.from(response.serializeBinary()))
        if (answer.kind !== 'event') throw new Error(`read as ${answer.kind}`)
        const read = answer.event
        t.same(answer.at, { commit: given.commit, prepare: given.prepare })
        t.equal(read.id, given.id)
        t.equal(read.stream, given.stream)
        t.equal(read.type, given.type)
        t.equal(read.revision, given.revision)
        t.equal(read.position, given.commit)
        t.equal(read.recordedAt.getTime(), given.createdMs)
        t.ok(Buffer.from(read.data).equals(Buffer.from(given.data)))
        t.ok(Buffer.from(read.metadata).equals(Buffer.from(given.metadata)))
      },
    ),
    { numRuns: 200 },
  )
})

t.test('every kind of answer is distinguished', async (t) => {
  const answerOf = (fill: (response: streamsPb.ReadResp) => void) => {
    const response = new ReadResp()
    fill(response)
    return readAnswer(Buffer.from(response.serializeBinary()))
  }
  fc.assert(
    fc.property(uint64, uint64, (commit, prepare) => {
      const checkpoint = new ReadResp.Checkpoint()
      checkpoint.setCommitPosition(commit.toString())
      checkpoint.setPreparePosition(prepare.toString())
      const answer = answerOf((response) => response.setCheckpoint(checkpoint))
      t.same(answer, { kind: 'checkpoint', at: { commit, prepare } })
    }),
  )
  const confirmation = new ReadResp.SubscriptionConfirmation()
  confirmation.setSubscriptionId('some')
  t.same(
    answerOf((response) => response.setConfirmation(confirmation)),
    { kind: 'confirmation' },
  )
  t.same(
    answerOf((response) => response.setCaughtUp(new ReadResp.CaughtUp())),
    { kind: 'caughtUp' },
  )
  const notFound = new ReadResp.StreamNotFound()
  t.same(
    answerOf((response) => response.setStreamNotFound(notFound)),
    { kind: 'streamNotFound' },
  )
  t.same(
    answerOf((response) => response.setFirstStreamPosition('7')),
    { kind: 'other' },
  )
  t.same(
    answerOf((response) => response.setEvent(new ReadResp.ReadEvent())),
    { kind: 'other' },
  )
})

t.test('a truncated message is refused, at any length', async (t) => {
  const checkpoint = new ReadResp.Checkpoint()
  checkpoint.setCommitPosition('123456789012345')
  checkpoint.setPreparePosition('123456789012345')
  const response = new ReadResp()
  response.setCheckpoint(checkpoint)
  const whole = Buffer.from(response.serializeBinary())
  for (let length = 1; length < whole.length; length += 1)
    t.throws(() => readAnswer(whole.subarray(0, length)), RangeError, `${length} bytes`)
})

t.test('the generated classes read an encoded append', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ id: fc.uuid(), type: text, data: bytes, metadata: bytes }), {
        maxLength: 5,
      }),
      fc.oneof(fc.constantFrom('any' as const, 'no_stream' as const), uint64),
      fc.uuid(),
      (given, expected, correlationId) => {
        const events: EncodedEvent[] = given.map((event) => ({ ...event, sizeBytes: 0 }))
        const sent = batchRequest({ stream: 'task-1', events, expected }, correlationId)
        const request = BatchAppendReq.deserializeBinary(sent)
        const options = request.getOptions()
        t.equal(request.getCorrelationId()?.getString(), correlationId)
        t.equal(request.getIsFinal(), true)
        const name = options?.getStreamIdentifier()?.getStreamName_asU8() ?? []
        t.equal(Buffer.from(name).toString(), 'task-1')
        t.equal(options?.hasAny(), expected === 'any')
        t.equal(options?.hasNoStream(), expected === 'no_stream')
        if (typeof expected === 'bigint') t.equal(options?.getStreamPosition(), expected.toString())
        const proposed = request.getProposedMessagesList().map((message) => ({
          id: message.getId()?.getString(),
          type: message.getMetadataMap().get('type'),
          contentType: message.getMetadataMap().get('content-type'),
          data: Buffer.from(message.getData_asU8()),
          metadata: Buffer.from(message.getCustomMetadata_asU8()),
        }))
        t.same(
          proposed,
          given.map((event) => ({
            id: event.id,
            type: event.type,
            contentType: 'application/json',
            data: Buffer.from(event.data),
            metadata: Buffer.from(event.metadata),
          })),
        )
      },
    ),
  )
})

t.test('an answer to an append is read as the generated classes wrote it', async (t) => {
  fc.assert(
    fc.property(
      fc.uuid(),
      fc.option(uint64, { nil: undefined }),
      fc.option(uint64, { nil: undefined }),
      text,
      (correlationId, revision, commit, stream) => {
        const id = new sharedPb.UUID()
        id.setString(correlationId)
        const identifier = new sharedPb.StreamIdentifier()
        identifier.setStreamName(Buffer.from(stream))
        const success = new BatchAppendResp.Success()
        if (revision === undefined) success.setNoStream(new sharedPb.Empty())
        else success.setCurrentRevision(revision.toString())
        if (commit === undefined) success.setNoPosition(new sharedPb.Empty())
        else {
          const position = new sharedPb.AllStreamPosition()
          position.setCommitPosition(commit.toString())
          position.setPreparePosition(commit.toString())
          success.setPosition(position)
        }
        const response = new BatchAppendResp()
        response.setCorrelationId(id)
        response.setSuccess(success)
        response.setStreamIdentifier(identifier)
        t.same(readBatchAnswer(Buffer.from(response.serializeBinary())), {
          id: correlationId,
          answer: { kind: 'success', revision: revision ?? 0n, position: commit },
        })
      },
    ),
  )
  const neither = new BatchAppendResp()
  t.match(readBatchAnswer(Buffer.from(neither.serializeBinary())), {
    id: '',
    answer: { kind: 'transport', certain: false },
  })
})
