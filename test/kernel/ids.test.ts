import t from 'tap'
import {
  answerIdOf,
  callIdOfAnswer,
  derivedId,
  eventId,
  newCallId,
  newRequestId,
  recordId,
  sha256Hex,
  timeOfRequestId,
  timesOfUlid,
  ulidOfCall,
} from '../../src/kernel/ids.ts'

t.test('event ids are stable: logs hold ids of earlier releases', async (t) => {
  t.equal(
    eventId('journal', 'call_01J9ZQ8X7Y6W5V4T3S2R1Q0PNM', 0),
    '916b2d94-dc3e-5289-a489-17cb5a6ae504',
  )
  t.equal(eventId('task-video_漢', 'cmd_1', 3), '29fb3c0c-9726-5775-bfdb-f7cb6433eb53')
})

t.test(
  'the record of a call has the bits of its ULID, and that of another command is hashed',
  async (t) => {
    t.equal(recordId('call_00000000000000000000000000'), '00000000-0000-8000-8000-000000000000')
    t.equal(recordId('call_7ZZZZZZZZZZZZZZZZZZZZZZZZZ'), 'ffffffff-ffff-8fff-bfff-ffffffffffff')
    t.equal(recordId('call_01M8RHHEB1GDFE0CKQ12TDSB6Z'), '01a23118-b961-835e-a032-7708b4dcacdf')
    for (const other of [
      'write-off:call_1',
      'call_01M8RHHEB1GDFE0CKQ12TDSB6',
      'call_8ZZZZZZZZZZZZZZZZZZZZZZZZZ',
    ])
      t.equal(recordId(other), eventId('journal', other, 0))
  },
)

t.test('calls of one millisecond have records of different ids', async (t) => {
  const ids = Array.from({ length: 1_000 }, () => recordId(newCallId(1_700_000_000_000)))
  t.equal(new Set(ids).size, ids.length)
})

t.test('a hash of text is that of its UTF-8, in hex', async (t) => {
  t.equal(sha256Hex('tollgate'), sha256Hex(Buffer.from('tollgate')))
  t.equal(sha256Hex(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
})

t.test('the beginning of a ULID says the times that it can have', (t) => {
  const atMs = Date.parse('2026-11-27T17:51:15.778Z')
  t.same(timesOfUlid('01M8F241A2'), [atMs, atMs])
  t.same(timesOfUlid('01M8F241A2X3ADFTQTEJ39XGP6'), [atMs, atMs])
  const [firstMs, lastMs] = timesOfUlid('01M8F241')
  t.ok(firstMs <= atMs && atMs <= lastMs)
  t.equal(lastMs - firstMs, 1_023)
  t.same(timesOfUlid('7ZZZZZ')[1], 2 ** 48 - 1)
  t.end()
})

t.test('a request id says when the request came, and no other text does', (t) => {
  // A new id is never earlier than the one before it in this process, so a made one says nothing of the past.
  const atMs = Date.parse('2026-11-27T17:51:15.778Z')
  t.equal(timeOfRequestId('req_01M8F241A2X3ADFTQTEJ39XGP6'), atMs)
  t.ok((timeOfRequestId(newRequestId(Date.now())) ?? 0) >= atMs)
  for (const text of ['', 'req_', 'req_1', 'call_01M8F241A2X3ADFTQTEJ39XGP6', 'req_ILOU'])
    t.equal(timeOfRequestId(text), undefined, text)
  t.end()
})

t.test('the id of an answer and the id of its call are one', (t) => {
  const callId = newCallId(Date.now())
  const answerId = answerIdOf(callId)
  t.match(answerId, /^chatcmpl-[0-9A-HJKMNP-TV-Z]{26}$/)
  t.equal(callIdOfAnswer(answerId), callId)
  t.equal(callIdOfAnswer(answerId.slice(0, 20)), callId.slice(0, 16), 'also the beginning of one')
  t.equal(`call_${ulidOfCall(callId)}`, callId)
  const others = [
    '',
    callId,
    'chatcmpl-',
    'chatcmpl-9',
    'chatcmpl-abc',
    `${answerId}0`,
    ` ${answerId}`,
  ]
  for (const text of [...others, `${answerId}:1`, 'resp_x']) t.equal(callIdOfAnswer(text), text)
  for (const text of ['', 'call_', 'call_1', answerId, `${callId}0`])
    t.equal(ulidOfCall(text), undefined)
  t.end()
})

t.test('an id that follows from facts is the same for the same facts', (t) => {
  const id = derivedId('grant', ['grant', 'tenant_1', 'key'])
  t.equal(id, 'grant_3a4505ac413c1f01ab76568db1ba6d1c')
  t.equal(derivedId('grant', ['grant', 'tenant_1', 'key']), id)
  t.not(derivedId('grant', ['grant', 'tenant_2', 'key']), id, 'each tenant has its own')
  t.not(derivedId('grant', ['grant', 'tenant_1key']), id, 'facts do not run into each other')
  t.end()
})
