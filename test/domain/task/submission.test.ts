import t from 'tap'
import {
  active,
  after,
  at,
  ends,
  expire,
  nativeId,
  platformId,
  refuse,
  request,
  requestOf,
  running,
  submitted,
  types,
  uncertain,
} from './tasks.ts'

t.test('given nothing, a request is recorded as it came', async (t) => {
  t.strictSame(after().when(request()), [{ type: 'TaskRequested', data: requestOf() }])
})

t.test('given a task, the same request again is a retry and another is a conflict', async (t) => {
  for (const past of [[request()], active, [request(), refuse], ends.succeeded]) {
    t.strictSame(after(...past).when(request()), [])
    t.throws(() => after(...past).when(request({ ...requestOf(), requestId: 'req_2' })), {
      code: 'task_state_conflict',
    })
  }
})

t.test(
  'given a request, a submission is recorded, running where it was found running',
  async (t) => {
    t.strictSame(after(request()).when(submitted), [
      {
        type: 'TaskSubmitted',
        data: { platformId, nativeId, channelId: 'channel-1', via: 'create', submittedAt: at },
      },
    ])
    t.strictSame(
      types(
        after(request(), uncertain).when({
          ...submitted,
          via: 'reconciliation',
          status: 'running',
        }),
      ),
      ['TaskSubmitted', 'TaskStatusChanged'],
    )
    t.strictSame(types(after(request()).when({ ...submitted, status: 'queued' })), [
      'TaskSubmitted',
    ])
  },
)

t.test('given an uncertain submission, reconciliation may adopt it', async (t) => {
  t.match(after(request(), uncertain).when({ ...submitted, via: 'reconciliation' }), [
    { type: 'TaskSubmitted', data: { nativeId, via: 'reconciliation' } },
  ])
})

t.test(
  'given a submission, the same again decides to nothing and another id is a conflict',
  async (t) => {
    for (const past of [active, running, ...Object.values(ends)]) {
      t.strictSame(after(...past).when({ ...submitted, via: 'reconciliation' }), [])
      t.throws(() => after(...past).when({ ...submitted, nativeId: 'cgt-other' }), {
        code: 'task_state_conflict',
        details: { platformId, command: 'submitted' },
      })
    }
  },
)

t.test(
  'a submission of nothing, of a refused task or after the deadline is a conflict',
  async (t) => {
    for (const past of [[], [request(), refuse], [request(), uncertain, expire]])
      t.throws(() => after(...past).when(submitted), { code: 'task_state_conflict' })
  },
)

t.test('a refusal ends a request, also an uncertain one, and nothing else', async (t) => {
  for (const past of [[request()], [request(), uncertain]])
    t.strictSame(after(...past).when(refuse), [
      {
        type: 'TaskSubmissionRefused',
        data: { platformId, code: 'InvalidParameter', message: 'no', refusedAt: at },
      },
    ])
  t.strictSame(after(request(), refuse).when(refuse), [])
  for (const past of [[], active, ...Object.values(ends)])
    t.throws(() => after(...past).when(refuse), { code: 'task_state_conflict' })
})

t.test('doubt is recorded once, and comes too late when the outcome is known', async (t) => {
  t.strictSame(after(request()).when(uncertain), [
    { type: 'TaskSubmissionUncertain', data: { platformId, reason: 'timeout', uncertainAt: at } },
  ])
  for (const past of [[request(), uncertain], [request(), refuse], active, ...Object.values(ends)])
    t.strictSame(after(...past).when(uncertain), [])
  t.throws(() => after().when(uncertain), { code: 'task_state_conflict' })
})
