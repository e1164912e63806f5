import t from 'tap'
import { timelineProjection } from '../../../projections/timeline/projection.ts'
import {
  type FailedRequest,
  failedRequests,
  type FailureFilter,
  type FailureStatus,
  isFailurePlace,
} from '../../../projections/timeline/query.ts'
import { journalStream } from '../../../src/domain/call/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { applied, testPool } from '../support/database.ts'
import {
  type Life,
  lives,
  openTenant,
  overlappingTasks,
  platformId,
  recordCall,
  Recorder,
} from '../support/history.ts'
import { everyFailure } from '../support/every-failure.ts'

const TASKS = 95
const LIFE_NAMES = Object.keys(lives) as Life[]
const lifeOf = (n: number): Life => LIFE_NAMES[n % LIFE_NAMES.length] ?? 'settled'
const tenantOf = (n: number): string => `tenant_${n % 2}`

/** How a life ends for its caller, and under which code; undefined: not without a result. */
const ends: Readonly<Partial<Record<Life, readonly [FailureStatus, code: string]>>> = {
  failed: ['failed', 'OutputVideoSensitive'],
  refused: ['refused', 'invalid'],
  lost: ['expired', 'expired'],
  neverReported: ['expired', 'expired'],
  neverAccepted: ['failed', 'not_accepted'],
  appearedLate: ['failed', 'not_accepted'],
  givenUp: ['failed', 'given_up'],
  givenUpLate: ['failed', 'given_up'],
  givenUpUnreported: ['failed', 'given_up'],
  notMade: ['failed', 'OutputVideoSensitive'],
  lostByItsWorker: ['expired', 'expired'],
  doubted: ['uncertain', 'submission_uncertain'],
}

function recordFailedCall(recorder: Recorder, n: number, part: object = {}): RecordedEvent {
  const event = recorder.record(journalStream('i1', 1), {
    type: 'CallFailed',
    data: {
      callId: `call_failed_${n}`,
      surface: 'v1.chat',
      tenantId: 'tenant_1',
      userId: `user_${n % 3}`,
      tokenId: 'tok_call',
      requestId: `req_call_${n}`,
      model: 'gpt-x',
      channelId: 'text-usd',
      upstreamModel: 'upstream-x',
      stream: false,
      startedAt: '2026-03-04T05:06:07.000Z',
      code: 'unavailable',
      message: 'unavailable: the provider gave no result',
      failedAt: '2026-03-04T05:06:07.039Z',
      ...part,
    },
  })
  return { ...event, metadata: { ...event.metadata, correlationId: `req_call_${n}` } }
}

const absorbed = {
  usage: { input: 12 },
  settlement: { priceBookVersion: '2026-03-01', currency: 'USD', amount: '0.000003', lines: [] },
}

const recorder = new Recorder()
const events = [
  ...openTenant(recorder, 'tenant_0'),
  ...openTenant(recorder, 'tenant_1'),
  ...overlappingTasks(recorder, {
    tasks: TASKS,
    width: 9,
    shape: (n) => ({ tenantId: tenantOf(n), model: `model-${n % 4}` }),
    life: lifeOf,
  }),
  recordCall(recorder, 5),
  recordFailedCall(recorder, 1, { absorbed }),
  recordFailedCall(recorder, 2, { count: 42, code: 'invalid' }),
]
const pool = await testPool(t)
await applied(t, pool, events, [timelineProjection], 13)

const everything = everyFailure(events.at(-1)?.position ?? 0n)
const list = async (filter: Partial<FailureFilter> = {}): Promise<readonly FailedRequest[]> =>
  (await failedRequests(pool, { ...everything, ...filter }, { after: undefined, limit: 1_000 }))
    .items

t.test('every request without a result is listed once, by its last failure', async (t) => {
  const found = new Map((await list()).map((item) => [item.sourceId, item]))
  t.equal(found.size, (await list()).length)
  const numbers = Array.from({ length: TASKS }, (_, n) => n)
  for (const n of numbers) {
    const end = ends[lifeOf(n)]
    const item = found.get(platformId(n))
    t.equal(item === undefined, end === undefined, `${lifeOf(n)} ${n}`)
    if (end === undefined) continue
    const [status, code] = end
    t.match(item, {
      kind: 'task',
      status,
      code,
      tenantId: tenantOf(n),
      userId: `user_${n % 3}`,
      tokenId: `tok_${n % 5}`,
      model: `model-${n % 4}`,
      surface: 'provA.tasks',
      requestId: `req_${n}`,
      count: 1,
      notCharged: undefined,
    })
    t.ok(item?.message)
  }
  t.equal(found.size, numbers.filter((n) => ends[lifeOf(n)]).length + 2)
  t.equal(found.get(platformId(LIFE_NAMES.indexOf('doubted')))?.channelId, 'channel_2')
  t.equal(found.get(platformId(LIFE_NAMES.indexOf('failed')))?.channelId, 'channel_1')
  t.match(found.get('call_failed_1'), {
    kind: 'call',
    status: 'failed',
    code: 'unavailable',
    surface: 'v1.chat',
    durationMs: 39,
    count: 1,
    notCharged: { currency: 'USD', amount: '0.000003' },
    channelId: 'text-usd',
  })
  t.match(found.get('call_failed_2'), { count: 42, notCharged: undefined })
  t.notOk(found.has('call_5'), 'a settled call')
})

t.test('filters by each parameter', async (t) => {
  const all = await list()
  const middleMs = all[Math.floor(all.length / 2)]?.atMs ?? 0
  const middleChannel = all[Math.floor(all.length / 2)]?.channelId
  const filters: readonly (readonly [Partial<FailureFilter>, (item: FailedRequest) => boolean])[] =
    [
      [{ tenantId: 'tenant_1' }, (item) => item.tenantId === 'tenant_1'],
      [{ userIds: ['user_1', 'user_2'] }, ({ userId }) => userId !== 'user_0'],
      [{ userIds: [] }, () => false],
      [{ tokenId: 'tok_3' }, ({ tokenId }) => tokenId === 'tok_3'],
      [{ tokenId: 'tok_call' }, ({ kind }) => kind === 'call'],
      [{ model: 'model-2' }, ({ model }) => model === 'model-2'],
      [{ channelId: middleChannel }, ({ channelId }) => channelId === middleChannel],
      [{ channelId: 'none' }, () => false],
      [{ surface: 'v1.chat' }, ({ surface }) => surface === 'v1.chat'],
      [{ code: 'invalid' }, ({ code }) => code === 'invalid'],
      [{ code: 'expired' }, ({ code }) => code === 'expired'],
      [{ code: 'none' }, () => false],
      [{ status: 'failed' }, ({ status }) => status === 'failed'],
      [{ status: 'refused' }, ({ status }) => status === 'refused'],
      [{ status: 'expired' }, ({ status }) => status === 'expired'],
      [{ status: 'uncertain' }, ({ status }) => status === 'uncertain'],
      [{ requestId: 'req_call_1' }, ({ requestId }) => requestId === 'req_call_1'],
      [{ requestId: 'req_none' }, () => false],
      [{ fromMs: middleMs }, ({ atMs }) => atMs >= middleMs],
      [{ toMs: middleMs }, ({ atMs }) => atMs < middleMs],
      [
        { tenantId: 'tenant_0', status: 'failed', model: 'model-2', fromMs: middleMs },
        ({ tenantId, status, model, atMs }) =>
          tenantId === 'tenant_0' && status === 'failed' && model === 'model-2' && atMs >= middleMs,
      ],
    ]
  for (const [filter, keeps] of filters)
    t.same(await list(filter), all.filter(keeps), JSON.stringify(filter))
})

t.test('pages join up to the whole list, newest first, as of a position', async (t) => {
  const all = await list()
  const seen: FailedRequest[] = []
  let after: string | undefined
  do {
    const page = await failedRequests(pool, everything, { after, limit: 4 })
    t.ok(page.next === undefined || isFailurePlace(page.next))
    seen.push(...page.items)
    after = page.next
  } while (after !== undefined)
  t.same(seen, all)
  t.same(
    all,
    all.toSorted((a, b) => b.atMs - a.atMs || Number(b.position) - Number(a.position)),
  )
})

t.test('a submission is uncertain until its outcome is known', async (t) => {
  const n = LIFE_NAMES.indexOf('adopted')
  const of = events.filter(({ stream }) => stream === `task-${platformId(n)}`)
  const statusAt = async (type: RecordedEvent['type']) => {
    const asOf = of.find((event) => event.type === type)?.position ?? 0n
    return (await list({ asOf })).find(({ sourceId }) => sourceId === platformId(n))?.status
  }
  t.equal(await statusAt('TaskRequested'), undefined)
  t.equal(await statusAt('TaskSubmissionUncertain'), 'uncertain')
  t.equal(await statusAt('TaskSubmitted'), undefined)
})

t.test('a place in the list has one form', (t) => {
  for (const text of ['1.2', '1795632601000.90']) t.ok(isFailurePlace(text), text)
  for (const text of ['', '1', '1.', '.1', '-1.2', '1.2.3', '1 .2', '123456789012345.1', 'a.b'])
    t.notOk(isFailurePlace(text), text)
  t.end()
})
