import t from 'tap'
import { maxUnknownStatuses } from '../../../src/domain/task/observe.ts'
import {
  active,
  after,
  appeared,
  at,
  ends,
  expire,
  expireUnsubmitted,
  expiresAt,
  given,
  nativeId,
  notAccepted,
  observe,
  platformId,
  refuse,
  remove,
  request,
  requestOf,
  running,
  submitted,
  succeeded,
  types,
  uncertain,
  usage,
} from './tasks.ts'

t.test('queued → running is recorded once; running → queued never', async (t) => {
  t.strictSame(after(...active).when(observe('running')), [
    { type: 'TaskStatusChanged', data: { platformId, status: 'running', observedAt: at } },
  ])
  t.strictSame(after(...running).when(observe('running')), [])
  t.strictSame(after(...running).when(observe('queued')), [])
  t.strictSame(after(...active).when(observe('queued')), [])
})

t.test('usage reported at submission is settled when the end reports none', async (t) => {
  const counted = { ...submitted, usage }
  t.match(after(request()).when(counted), [{ type: 'TaskSubmitted', data: { usage } }])
  const silent = observe('succeeded')
  t.match(after(request(), counted).when(silent), [
    { type: 'TaskSucceeded', data: { usage } },
    { type: 'TaskSettled', data: { usage, settlement: { lines: [{ quantity: 108_900 }] } } },
  ])
  t.match(types(after(request(), submitted).when(silent)), ['TaskStatusChanged'])
  const later = { completion_tokens: 7, total_tokens: 7 }
  t.match(after(request(), counted).when(observe('succeeded', { usage: later })), [
    { type: 'TaskSucceeded', data: { usage: later } },
    { type: 'TaskSettled', data: { settlement: { lines: [{ quantity: 7 }] } } },
  ])
  const wrong = { ...submitted, usage: { completion_tokens: -1, total_tokens: 0.5 } }
  t.match(after(request()).when(wrong), [{ data: { usage: {} } }])
})

t.test(
  'a success above four times its hold is withheld, recorded once and queried again',
  async (t) => {
    const told = (completion_tokens: number) =>
      observe('succeeded', { usage: { completion_tokens, total_tokens: completion_tokens } })
    const reported = { completion_tokens: Number.MAX_SAFE_INTEGER }
    const absurd = told(reported.completion_tokens)
    const noted = after(...active).when(absurd)
    t.match(noted, [
      {
        type: 'TaskStatusChanged',
        data: { status: 'queued', upstreamStatus: /: usage above its ceiling$/, reported },
      },
    ])
    t.strictSame(after(...active, absurd).when(absurd), [])
    t.match(types(after(...active, absurd).when(told(108_900))), ['TaskSucceeded', 'TaskSettled'])
    t.match(types(after(...active, absurd).when(expire)), ['TaskExpired'])
  },
)

t.test('a success of absurd usage is withheld at a price of zero too', async (t) => {
  const asked = requestOf()
  const candidates = asked.quote.candidates.map((rated) => ({ ...rated, price: '0' }))
  const free = request({ ...asked, quote: { ...asked.quote, candidates, hold: '0' } })
  const told = (completion_tokens: number) =>
    observe('succeeded', { usage: { completion_tokens, total_tokens: completion_tokens } })
  t.match(types(after(free, submitted).when(told(Number.MAX_SAFE_INTEGER))), ['TaskStatusChanged'])
  t.match(types(after(free, submitted).when(told(108_900))), ['TaskSucceeded', 'TaskSettled'])
})

t.test('success and settlement are one decision (P2), from queued too', async (t) => {
  const quote = requestOf().quote
  for (const past of [active, running])
    t.strictSame(after(...past).when(succeeded), [
      {
        type: 'TaskSucceeded',
        data: {
          platformId,
          nativeId,
          usage,
          output: { resolution: '720p', duration: 5 },
          succeededAt: at,
        },
      },
      {
        type: 'TaskSettled',
        data: {
          platformId,
          nativeId,
          tenantId: 'tenant_1',
          userId: 'user_1',
          tokenId: 'token_1',
          requestId: 'req_1',
          surface: 'provA.tasks',
          model: 'overseas-video-2-0',
          usage,
          settlement: {
            priceBookVersion: quote.priceBookVersion,
            currency: 'USD',
            amount: '0.7623',
            lines: [
              {
                sku: 'overseas-video-2-0-720p-novideo',
                rule: 'video-a/2.0/requested-resolution/novideo',
                quantity: 108_900,
                unit: 'token',
                price: '7',
                per: 1_000_000,
                amount: '0.7623',
                measurement: 'reported',
              },
            ],
          },
          settledAt: at,
        },
      },
    ])
})

t.test('a filter-off task settles with its base SKU and keeps its own model name', async (t) => {
  const data = requestOf('overseas-video-2-0-filter-off')
  t.match(after(request(data), submitted).when(succeeded), [
    {},
    {
      data: {
        model: 'overseas-video-2-0-filter-off',
        settlement: { lines: [{ sku: 'overseas-video-2-0-720p-novideo' }] },
      },
    },
  ])
})

t.test('the settlement follows the frozen quote, not the prices of today (P4)', async (t) => {
  const { quote, ...rest } = requestOf()
  const candidates = quote.candidates.map((candidate) => ({ ...candidate, price: '0.000001' }))
  const data = { ...rest, quote: { ...quote, priceBookVersion: 'old', candidates } }
  t.match(after(request(data), submitted).when(succeeded), [
    {},
    { data: { settlement: { priceBookVersion: 'old', amount: '0.0000001089' } } },
  ])
})

t.test('a success without usable usage is noted once and is not an end (P4, P5)', async (t) => {
  const bad = [
    undefined,
    {},
    { total_tokens: 5 },
    { completion_tokens: -1 },
    { completion_tokens: 2 ** 53 },
  ]
  for (const usage of bad) {
    const without = observe('succeeded', { usage })
    t.strictSame(after(...running).when(without), [
      {
        type: 'TaskStatusChanged',
        data: {
          platformId,
          status: 'running',
          upstreamStatus: 'succeeded',
          awaitsUsage: true,
          observedAt: at,
        },
      },
    ])
    t.strictSame(after(...running, without).when(without), [])
    t.strictSame(types(after(...running, without).when(succeeded)), [
      'TaskSucceeded',
      'TaskSettled',
    ])
    t.match(after(...running, without).when(expire), [{ data: { possibleCostLeak: true } }])
  }
})

t.test('an explicit zero is a usage: it settles at zero', async (t) => {
  t.match(after(...running).when(observe('succeeded', { usage: { completion_tokens: 0 } })), [
    { type: 'TaskSucceeded' },
    { type: 'TaskSettled', data: { settlement: { amount: '0', lines: [] } } },
  ])
})

t.test('URLs, non-scalars and unstorable text never enter a success (P7)', async (t) => {
  const output = JSON.parse(
    '{"video_url":"https://signed.test/x?sig=1","frame":"data:image/png;base64,AA",' +
      '"nested":{"a":1},"list":[1],"ratio":"16:9","seed":5,"note":"a\\u0000b","draft":false,"x":null}',
  )
  const tools = JSON.parse('{"tool.web_search":1,"tool.odd":-1,"tool.half":0.5}')
  const [event] = after(...running).when(
    observe('succeeded', { output, usage: { completion_tokens: 1, ...tools } }),
  )
  t.match(event, { type: 'TaskSucceeded' })
  if (event?.type !== 'TaskSucceeded') return
  t.strictSame(event.data.output, {
    ratio: '16:9',
    seed: 5,
    note: 'a\uFFFDb',
    draft: false,
    x: null,
  })
  t.strictSame(event.data.usage, { completion_tokens: 1, 'tool.web_search': 1 })
})

t.test('a failure is recorded with its reason and costs nothing (P5)', async (t) => {
  const error = { code: 'OutputVideoSensitiveContentDetected', message: 'refused' }
  t.strictSame(after(...running).when(observe('failed', { error, usage })), [
    { type: 'TaskFailed', data: { platformId, ...error, failedAt: at } },
  ])
  t.match(after(...active).when(observe('failed')), [
    { type: 'TaskFailed', data: { code: 'task_failed', message: /without a reason/ } },
  ])
})

t.test('upstream expiry and cancellation end a task', async (t) => {
  for (const past of [active, running]) {
    t.strictSame(after(...past).when(observe('expired')), [
      {
        type: 'TaskExpired',
        data: { platformId, reason: 'upstream', possibleCostLeak: false, expiredAt: at },
      },
    ])
    t.strictSame(after(...past).when(observe('cancelled')), [
      { type: 'TaskCancelled', data: { platformId, cancelledAt: at } },
    ])
  }
})

t.test('an unknown status is recorded once each, within a bound, as no failure (P5)', async (t) => {
  const paused = observe('unknown', { upstreamStatus: 'paused' })
  t.strictSame(after(...active).when(paused), [
    {
      type: 'TaskStatusChanged',
      data: { platformId, status: 'queued', upstreamStatus: 'paused', observedAt: at },
    },
  ])
  t.strictSame(after(...active, paused).when(paused), [])
  t.strictSame(types(after(...active, paused).when(observe('running'))), ['TaskStatusChanged'])
  const words = Array.from({ length: 50 }, (_, n) =>
    observe('unknown', { upstreamStatus: `w${n}` }),
  )
  t.equal(given(...active, ...words).events.length, 2 + maxUnknownStatuses)
  t.strictSame(types(after(...active, ...words).when(succeeded)), ['TaskSucceeded', 'TaskSettled'])
})

t.test('a result without usage is recorded after any number of unknown statuses', async (t) => {
  const words = Array.from({ length: 50 }, (_, n) =>
    observe('unknown', { upstreamStatus: `w${n}` }),
  )
  const made = observe('succeeded', { usage: {} })
  t.match(after(...active, ...words).when(made), [
    { type: 'TaskStatusChanged', data: { upstreamStatus: 'succeeded', awaitsUsage: true } },
  ])
  t.strictSame(after(...active, ...words, made).when(made), [])
  const shouted = observe('succeeded', { upstreamStatus: 'SUCCEEDED', usage: {} })
  t.strictSame(after(...active, ...words, made).when(shouted), [])
  const unread = observe('unknown', { upstreamStatus: 'succeeded' })
  t.match(after(...active, unread).when(made), [{ data: { awaitsUsage: true } }])
  const reported = { completion_tokens: 10 ** 12, total_tokens: 10 ** 12 }
  const above = observe('succeeded', { usage: reported })
  t.match(after(...active, ...words, made).when(above), [
    { type: 'TaskStatusChanged', data: { awaitsUsage: true, reported } },
  ])
})

t.test('an observation of another upstream task is ignored', async (t) => {
  t.strictSame(after(...active).when(observe('failed', { nativeId: 'cgt-other' })), [])
  t.strictSame(types(after(...active).when(observe('failed', { nativeId }))), ['TaskFailed'])
})

t.test('an observation without a submission decides to no event', async (t) => {
  for (const past of [[], [request()], [request(), uncertain], [request(), refuse]])
    for (const command of [succeeded, observe('failed'), observe('running'), observe('cancelled')])
      t.strictSame(after(...past).when(command), [])
})

t.test('the deadline expires any open task, as a possible cost leak', async (t) => {
  const cases = [
    [undefined, [request()]],
    [undefined, [request(), uncertain]],
    [nativeId, active],
    [nativeId, running],
  ] as const
  for (const [judgedBy, past] of cases) {
    const at = (time: string) => ({ kind: 'expire', nativeId: judgedBy, at: time }) as const
    t.strictSame(after(...past).when(at('2026-01-05T03:04:04.999Z')), [])
    t.strictSame(after(...past).when(at(expiresAt)), [
      {
        type: 'TaskExpired',
        data: { platformId, reason: 'deadline', possibleCostLeak: true, expiredAt: expiresAt },
      },
    ])
  }
  for (const command of [expire, expireUnsubmitted]) {
    t.strictSame(after().when(command), [])
    t.strictSame(after(request(), refuse).when(command), [])
  }
})

t.test('a task adopted since a search is not expired by that search', async (t) => {
  const adopted = [request(), uncertain, { ...submitted, via: 'reconciliation' as const }]
  t.strictSame(after(...adopted).when(expireUnsubmitted), [])
  t.strictSame(types(after(...adopted).when(expire)), ['TaskExpired'])
  t.strictSame(after(...adopted).when({ kind: 'expire', nativeId: 'cgt-other', at: expiresAt }), [])
  t.strictSame(after(request(), uncertain).when(expire), [], 'nor by a task it never had')
})

t.test('an end is final: no observation, deadline or cancellation changes it', async (t) => {
  for (const [name, past] of Object.entries(ends))
    for (const command of [
      succeeded,
      observe('queued'),
      observe('running'),
      observe('failed'),
      observe('expired'),
      observe('cancelled'),
      observe('unknown', { upstreamStatus: 'paused' }),
      expire,
      expireUnsubmitted,
    ])
      t.strictSame(after(...past).when(command), [], `${name}, then ${command.kind}`)
})

t.test('an ended task is deleted once; its settlement stays', async (t) => {
  for (const past of [
    ...Object.values(ends),
    [request(), uncertain, expireUnsubmitted],
    [request(), uncertain, notAccepted],
    [request(), uncertain, notAccepted, appeared],
  ]) {
    t.strictSame(after(...past).when(remove), [
      { type: 'TaskDeleted', data: { platformId, tokenId: 'token_2', deletedAt: at } },
    ])
    t.strictSame(after(...past, remove).when(remove), [])
  }
  t.match(given(...ends.succeeded, remove).state, {
    phase: 'ended',
    status: 'succeeded',
    deleted: true,
    settlement: { amount: '0.7623' },
  })
})

t.test(
  'task_running when deleting before the end, task_not_found where the task is hidden',
  async (t) => {
    for (const past of [[request()], [request(), uncertain], active, running])
      t.throws(() => after(...past).when(remove), { code: 'task_running' })
    for (const past of [[], [request(), refuse]])
      t.throws(() => after(...past).when(remove), { code: 'task_not_found' })
  },
)
