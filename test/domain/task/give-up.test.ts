import t from 'tap'
import {
  active,
  after,
  appeared,
  at,
  ends,
  given,
  giveUpAt,
  notAccepted,
  observe,
  platformId,
  refuse,
  request,
  running,
  submitted,
  succeeded,
  types,
  uncertain,
} from './tasks.ts'

const withheld = observe('succeeded', { output: { resolution: '720p' } })
const anHourLater = '2026-01-02T04:05:00.000Z'

t.test('a submission without an outcome is given up once, at the cost of the operator', (t) => {
  const past = [request(), uncertain]
  t.strictSame(after(...past).when(giveUpAt(at)), [
    {
      type: 'TaskFailed',
      data: {
        platformId,
        code: 'given_up',
        message: 'The task was given up, because its outcome was not known: nothing is charged.',
        possibleCostLeak: true,
        givenUp: { noteId: 'note_1' },
        failedAt: at,
      },
    },
  ])
  t.strictSame(after(...past, giveUpAt(at)).when(giveUpAt(anHourLater)), [], 'the same note')
  t.throws(() => after(...past, giveUpAt(at)).when(giveUpAt(at, 'note_2')), {
    code: 'give_up_refused',
    message: /it was given up before/,
  })
  t.end()
})

t.test('a result without usage is given up after an hour, and not before', (t) => {
  const past = [...running, withheld]
  t.throws(() => after(...past).when(giveUpAt('2026-01-02T04:04:59.999Z')), {
    code: 'give_up_refused',
    message: /may report its usage until 2026-01-02T04:05:00.000Z/,
  })
  t.strictSame(types(after(...past).when(giveUpAt(anHourLater))), ['TaskFailed'])
  const again = { ...observe('unknown'), at: anHourLater }
  t.strictSame(
    types(after(...past, again).when(giveUpAt(anHourLater))),
    ['TaskFailed'],
    'the first report counts',
  )
  t.end()
})

t.test('a result without usage is given up after any number of unknown statuses', (t) => {
  const words = Array.from({ length: 50 }, (_, n) =>
    observe('unknown', { upstreamStatus: `w${n}` }),
  )
  const past = [...running, ...words, withheld]
  t.strictSame(types(after(...past).when(giveUpAt(anHourLater))), ['TaskFailed'])
  t.end()
})

t.test('what runs, was refused or has ended is not given up, and the words say why', (t) => {
  const cases = [
    [[request()], /it is being sent/],
    [active, /it is queued upstream, and ends by 2026-01-05T04:04:05.000Z at the latest/],
    [running, /it is running upstream/],
    [[request(), refuse], /it was refused before it began, and holds nothing/],
    [[request(), uncertain, { ...submitted, via: 'reconciliation' }], /it is queued upstream/],
    [[request(), uncertain, notAccepted], /it has ended: failed/],
    [ends.succeeded, /it has ended: succeeded/],
    [ends.expired, /it has ended: expired/],
    [ends.cancelled, /it has ended: cancelled/],
  ] as const
  for (const [past, message] of cases)
    t.throws(() => after(...past).when(giveUpAt(anHourLater)), { code: 'give_up_refused', message })
  t.end()
})

t.test('nothing that comes after it is billed', (t) => {
  const past = [request(), uncertain, giveUpAt(at)]
  t.strictSame(types(after(...past).when(appeared)), ['TaskAppearedLate'])
  t.strictSame(after(...past, appeared).when(appeared), [])
  t.throws(() => after(...past).when(submitted), { code: 'task_state_conflict' })
  const unreported = [...running, withheld, giveUpAt(anHourLater)]
  t.strictSame(after(...unreported).when(succeeded), [])
  t.strictSame(after(...unreported).when(appeared), [], 'its submission was known')
  t.match(given(...unreported, succeeded).state, { status: 'failed', settlement: undefined })
  t.end()
})
