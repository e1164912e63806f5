import t from 'tap'
import { startApp } from '../support/app.ts'

const { app, ledger } = await startApp()
t.teardown(async () => app.close())

async function history(id: string, secret = 'qak-all') {
  return app.inject({
    url: `/api/query/v1/tasks/${id}/history`,
    headers: { authorization: `Bearer ${secret}` },
  })
}

const items = [
  {
    position: '17',
    type: 'TaskRequested',
    atMs: Date.parse('2026-03-04T05:06:07Z'),
    data: {
      platformId: 'video_1',
      channelId: 'chan',
      upstreamModel: 'vendor-model',
      marker: 'hash',
      markerIsOurs: true,
      model: 'overseas-video-2-0',
    },
    metadata: { correlationId: 'req_1' },
  },
  {
    position: '19',
    type: 'TaskSubmitted',
    atMs: Date.parse('2026-03-04T05:06:08Z'),
    data: { nativeId: 'cgt-1', channelId: 'chan' },
    metadata: {},
  },
]
const itemsOf = (tenantId: string, userId: string) =>
  items.map((item) => ({ ...item, tenantId, userId }))
ledger.histories.set('video_1', itemsOf('tenant_1', 'user_1'))
ledger.histories.set('cgt-1', itemsOf('tenant_1', 'user_1'))
ledger.histories.set('video_2', itemsOf('tenant_2', 'user_1'))
ledger.histories.set('video_3', itemsOf('tenant_1', 'user_3'))

void t.test(
  'every event of a task, oldest first, without the members for operators only',
  async (t) => {
    const answer = await history('video_1')
    t.equal(answer.statusCode, 200)
    t.same(answer.json(), {
      success: true,
      message: '',
      data: {
        items: [
          {
            position: '17',
            type: 'TaskRequested',
            at: '2026-03-04T05:06:07.000Z',
            data: { platformId: 'video_1', markerIsOurs: true, model: 'overseas-video-2-0' },
            metadata: { correlationId: 'req_1' },
          },
          {
            position: '19',
            type: 'TaskSubmitted',
            at: '2026-03-04T05:06:08.000Z',
            data: { nativeId: 'cgt-1' },
            metadata: {},
          },
        ],
      },
    })
  },
)

void t.test('an operator sees every member of every event, of any tenant', async (t) => {
  for (const id of ['video_1', 'video_2'])
    t.same((await history(id, 'qak-operator')).json().data.items[0].data, items[0]?.data)
})

void t.test('the history of a task is also found by its native id', async (t) => {
  t.equal((await history('cgt-1')).statusCode, 200)
})

void t.test('404 with identical bytes for unknown, foreign and out-of-scope tasks', async (t) => {
  const unknown = await history('video_none')
  t.equal(unknown.statusCode, 404)
  t.same(unknown.json(), {
    success: false,
    message: 'The specified task was not found',
    error: { code: 'task_not_found' },
  })
  const others = [
    await history('video_2'),
    await history('video_3', 'qak-user'),
    await history('video_3', 'qak-some'),
    await history('%01'),
    await history('x'.repeat(2_000)),
  ]
  for (const other of others) {
    t.equal(other.statusCode, 404)
    t.equal(other.body, unknown.body)
  }
  t.equal((await history('video_3')).statusCode, 200, 'all users of the tenant')
})

void t.test('404 for other paths below /api', async (t) => {
  for (const url of ['/api', '/api/', '/api/query/v1', '/api/query/v1/none', '/api/none']) {
    const answer = await app.inject({ url })
    t.equal(answer.statusCode, 404, url)
    t.match(answer.json(), { success: false, error: { code: 'not_found' } })
  }
})
