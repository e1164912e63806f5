import t from 'tap'
import type { TaskCommand } from '../../../src/domain/task/state.ts'
import {
  active,
  after,
  appeared,
  at,
  ends,
  expireUnsubmitted,
  given,
  nativeId,
  notAccepted,
  platformId,
  refuse,
  request,
  requestOf,
  running,
  submitted,
  types,
  uncertain,
} from './tasks.ts'

t.test('given no event, a request is recorded unchanged', async (t) => {
  t.strictSame(after().when(request()), [{ type: 'TaskRequested', data: requestOf() }])
})

t.test('given a task, an equal request is a retry and another is a conflict', async (t) => {
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

t.test('the outcome of a submission says how many channels were asked, above one', async (t) => {
  const outcomes = [submitted, refuse, uncertain] as const
  const attemptsIn = (attempts: number | undefined) =>
    outcomes.map((outcome) => {
      const [event] = after(request()).when({ ...outcome, attempts } as TaskCommand)
      return event !== undefined && 'attempts' in event.data ? event.data.attempts : undefined
    })
  t.strictSame(attemptsIn(2), [2, 2, 2])
  t.strictSame(attemptsIn(1), [undefined, undefined, undefined])
  t.strictSame(attemptsIn(undefined), [undefined, undefined, undefined])
})

t.test('given an uncertain submission, reconciliation may adopt it', async (t) => {
  t.match(after(request(), uncertain).when({ ...submitted, via: 'reconciliation' }), [
    { type: 'TaskSubmitted', data: { nativeId, via: 'reconciliation' } },
  ])
})

t.test(
  'given a submission, an equal one decides to no event and another id is a conflict',
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
  'a submission without a request, after a refusal or past the deadline is a conflict',
  async (t) => {
    for (const past of [[], [request(), refuse], [request(), uncertain, expireUnsubmitted]])
      t.throws(() => after(...past).when(submitted), { code: 'task_state_conflict' })
  },
)

t.test('a refusal ends a request, also an uncertain one, and no later state', async (t) => {
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

t.test('doubt is recorded once, and not after the outcome is known', async (t) => {
  t.strictSame(after(request()).when(uncertain), [
    { type: 'TaskSubmissionUncertain', data: { platformId, reason: 'timeout', uncertainAt: at } },
  ])
  for (const past of [[request(), uncertain], [request(), refuse], active, ...Object.values(ends)])
    t.strictSame(after(...past).when(uncertain), [])
  t.throws(() => after().when(uncertain), { code: 'task_state_conflict' })
})

t.test('a submission certainly absent upstream ends as failed, with the reason', async (t) => {
  t.strictSame(after(request(), uncertain).when(notAccepted), [
    {
      type: 'TaskFailed',
      data: {
        platformId,
        code: 'not_accepted',
        message:
          'The model service did not accept the task: nothing was started and nothing is charged.',
        absence: {
          firstSeenAt: '2026-01-02T03:14:00.000Z',
          lastSeenAt: '2026-01-02T03:15:00.000Z',
        },
        failedAt: '2026-01-02T03:15:01.000Z',
      },
    },
  ])
})

t.test('a submission found meanwhile, or without a marker, is not given up', async (t) => {
  const adopted = { ...submitted, via: 'reconciliation' as const }
  const theirs = request({ ...requestOf(), markerIsOurs: false })
  for (const past of [
    [],
    [request()],
    [request(), refuse],
    [request(), uncertain, adopted],
    [theirs, uncertain],
    [request(), uncertain, notAccepted],
    ...Object.values(ends),
  ])
    t.strictSame(after(...past).when(notAccepted), [])
})

t.test('a task that appears after it was given up is recorded once', async (t) => {
  const past = [request(), uncertain, notAccepted]
  t.strictSame(after(...past).when(appeared), [
    {
      type: 'TaskAppearedLate',
      data: {
        platformId,
        nativeId,
        channelId: 'channel-1',
        upstreamStatus: 'running',
        possibleCostLeak: true,
        appearedAt: '2026-01-02T04:00:00.000Z',
      },
    },
  ])
  t.strictSame(after(...past, appeared).when(appeared), [])
  t.match(given(...past, appeared).state, {
    phase: 'ended',
    status: 'failed',
    nativeId: undefined,
    settlement: undefined,
    appearedLate: true,
  })
  // Its caller got the answer that it failed: neither a late answer nor a poll can make it a
  // success.
  for (const state of [past, [...past, appeared]])
    t.throws(() => after(...state).when(submitted), { code: 'task_state_conflict' })
  for (const other of [
    [],
    active,
    [request(), uncertain, expireUnsubmitted],
    ...Object.values(ends),
  ])
    t.strictSame(after(...other).when(appeared), [])
})
