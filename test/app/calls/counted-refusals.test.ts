import { mock } from 'node:test'
import t from 'tap'
import { createCountedRefusals } from '../../../src/app/calls/counted-refusals.ts'
import type { CallEventData } from '../../../src/domain/call/events.ts'
import { callFacts } from '../../../src/domain/call/events.ts'
import type { Journal } from '../../../src/eventlog/journal/journal.ts'
import { eventFixtures } from '../../helpers/event-fixtures.ts'

type Failed = CallEventData<'CallFailed'>
const fixture = eventFixtures.find(({ type }) => type === 'CallFailed')
if (fixture === undefined) throw new Error('there is no fixture of CallFailed')
const { absorbed, count: _, ...refused } = fixture.data as Failed

function recorder() {
  const recorded: Parameters<Journal['record']>[0][] = []
  const refusals = createCountedRefusals({
    record: (event) => {
      recorded.push(event)
      return Promise.resolve({ position: 7n })
    },
  })
  const fail = (data: Partial<Failed>) =>
    refusals.record(
      { type: 'CallFailed', data: { ...refused, ...data } },
      { correlationId: 'req_1', commandId: data.callId ?? 'call_1' },
    )
  return { recorded, fail, flush: refusals.flush }
}

t.test('refusals of a token beyond the first of a minute are one event with a count', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { recorded, fail, flush } = recorder()
  for (let call = 0; call < 1_000; call += 1) await fail({ callId: `call_${call}` })
  await fail({ tokenId: 'token_2' })
  t.equal(recorded.length, 2, 'the first of each token at once')
  mock.timers.tick(60_000)
  t.equal(recorded.length, 3, 'nothing more of the token that had one')
  t.match(recorded[2], { type: 'CallFailed', data: { callId: 'call_999', count: 999 } })
  await fail({ callId: 'call_a' })
  t.match(recorded[3]?.data, { callId: 'call_a' }, 'the first of another minute')
  await fail({ callId: 'call_b' })
  flush()
  t.match(recorded[4]?.data, { callId: 'call_b' }, 'what is counted when the process stops')
  t.notOk(recorded[4] !== undefined && 'count' in recorded[4].data, 'one stands for itself')
  mock.timers.tick(60_000)
  t.equal(recorded.length, 5)
  const [, , counted] = recorded
  t.match(
    callFacts.CallFailed.words(counted?.data as Failed),
    /the last of 999 refused calls of the token$/,
  )
})

t.test('a failure that may have cost money is recorded each time', async (t) => {
  const { recorded, fail, flush } = recorder()
  for (let call = 0; call < 3; call += 1)
    await fail({ callId: `call_${call}`, ...(absorbed === undefined ? {} : { absorbed }) })
  flush()
  t.equal(recorded.length, 3)
})
