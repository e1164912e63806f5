import t from 'tap'
import { fromTaskResponse } from '../../../../src/families/kit/task/wire.ts'
import { videoCWire } from '../../../../src/families/video-c/upstream/wire.ts'

const plain = (text: string): string => text
const submission = {
  model: 'reelq3-pro',
  body: { prompt: 'a fox', wm_position: 3 },
  settings: { mode: 'start-end2video' },
  marker: 'marker-1',
}

t.test('a creation goes to the path of its mode, with the marker as its payload', async (t) => {
  t.equal(videoCWire.createPath(submission), '/ent/v2/start-end2video')
  t.same(videoCWire.createBody(submission), {
    prompt: 'a fox',
    wm_position: 3,
    model: 'reelq3-pro',
    payload: 'marker-1',
  })
  const channel = { credential: 'key-1' } as Parameters<typeof videoCWire.credentialHeaders>[0]
  t.same(videoCWire.credentialHeaders(channel), { authorization: 'Token key-1' })
  t.equal(
    videoCWire.readCreated({ task_id: '8312345678901234', state: 'created' }),
    '8312345678901234',
  )
  t.equal(videoCWire.readCreated({ id: 83 }), '83')
  for (const body of [{}, { task_id: '' }, { task_id: {} }, null, [], 'x'])
    t.equal(videoCWire.readCreated(body), undefined)
})

t.test('ids are escaped in paths', async (t) => {
  t.equal(videoCWire.taskPath('../a?b'), '/ent/v2/tasks/..%2Fa%3Fb/creations')
  t.same(videoCWire.cancelRequest?.('83'), {
    method: 'POST',
    path: '/ent/v2/tasks/83/cancel',
    body: { id: '83' },
  })
  t.equal(
    videoCWire.listPath({ nativeIds: ['81', '82'] }),
    '/ent/v2/tasks?pager.page=0&pager.pagesz=100&task_ids=81&task_ids=82',
  )
  t.equal(
    videoCWire.listPath({ page: 3, pageSize: 50 }),
    '/ent/v2/tasks?pager.page=2&pager.pagesz=50',
  )
})

t.test('states and their errors; an unknown state is not a failure', async (t) => {
  const read = (state: string, err_code = '') => {
    const seen = videoCWire.readTask({ id: '83', state, err_code, creations: [] }, plain)
    return [seen?.status, seen?.error?.code]
  }
  t.same(read('created'), ['queued', undefined])
  t.same(read('queueing'), ['queued', undefined])
  t.same(read('scheduled'), ['running', undefined])
  t.same(read('processing'), ['running', undefined])
  t.same(read('success'), ['succeeded', undefined])
  t.same(read('failed', 'CreationPolicyViolation'), ['failed', 'CreationPolicyViolation'])
  t.same(read('failed'), ['failed', 'InternalServiceFailure'])
  t.same(read('failed', 'UserCancelled'), ['cancelled', undefined])
  t.same(read('failed', 'Canceled'), ['cancelled', undefined])
  t.same(read('Success'), ['succeeded', undefined])
  t.same(read('FAILED', 'UserCancelled'), ['cancelled', undefined])
  t.same(read('reviewing'), ['unknown', undefined])
  t.same(read('constructor'), ['unknown', undefined])
  for (const body of [null, [], {}, { id: '83' }, { state: 'success' }])
    t.equal(videoCWire.readTask(body, plain), undefined)
  t.equal(videoCWire.readTask({ state: 'success' }, plain, '83')?.nativeId, '83')
})

t.test('a success has its credits, its links and its marker', async (t) => {
  const seen = videoCWire.readTask(
    {
      id: '83',
      state: 'success',
      err_code: '',
      credits: '100',
      payload: 'marker-1',
      off_peak: false,
      model: 'reelq2',
      created_at: '2026-01-02T03:04:05.123456Z',
      creations: [
        { id: 84, url: 'https://cdn/1.mp4', cover_url: 'https://cdn/1.jpg', watermarked_url: '' },
      ],
    },
    plain,
  )
  t.strictSame(seen, {
    nativeId: '83',
    status: 'succeeded',
    upstreamStatus: 'success',
    upstreamModel: 'reelq2',
    marker: 'marker-1',
    usage: { credits: 100 },
    output: { off_peak: false, creation_id: '84' },
    urls: { url: 'https://cdn/1.mp4', cover_url: 'https://cdn/1.jpg' },
    createdAtMs: Date.UTC(2026, 0, 2, 3, 4, 5, 123),
  })
  for (const id of ['x'.repeat(201), '8\u00004', '8\ud800', 'a b'])
    t.notMatch(
      videoCWire.readTask({ id: '83', state: 'success', creations: [{ id }] }, plain)?.output,
      { creation_id: /./ },
      'an id that no event can hold is left out',
    )
  const bare = { id: '83', state: 'success', creations: { url: 'https://cdn/1.mp4' } }
  t.match(videoCWire.readTask(bare, plain), { urls: { url: 'https://cdn/1.mp4' } })
  for (const credits of [undefined, null, -1, 1.5, 'many'])
    t.equal(videoCWire.readTask({ id: '83', state: 'success', credits }, plain)?.usage, undefined)
  t.same(videoCWire.readList({ tasks: [1, 2], next_page_token: 'x' }), {
    items: [1, 2],
    total: undefined,
  })
  t.equal(videoCWire.readList({ items: [] }), undefined)
})

t.test('refusals have a kind, an acceptance and a code', async (t) => {
  const kindOf = (statusCode: number, reason?: string) => {
    const error = videoCWire.readError({ code: statusCode, reason, message: 'm', metadata: {} })
    const { kind, acceptance, code } = fromTaskResponse({ statusCode, headers: {} }, error, plain)
    return [kind, acceptance, code]
  }
  t.same(kindOf(400, 'TaskPromptPolicyViolation'), [
    'invalid',
    'ruled_out',
    'TaskPromptPolicyViolation',
  ])
  for (const reason of ['CreditInsufficient', 'ModelUnavailable'])
    t.same(kindOf(400, reason), ['account', 'ruled_out', reason])
  t.same(kindOf(401, 'Unauthorized')[0], 'account')
  t.same(kindOf(403, 'Forbidden')[0], 'account')
  t.same(kindOf(404)[0], 'account', 'a path that is not there')
  t.equal(
    videoCWire.readError({ reason: 'TaskNotFound' })?.account,
    false,
    'a task that is not there',
  )
  t.same(kindOf(429, 'SystemThrottling').slice(0, 2), ['rate_limited', 'ruled_out'])
  t.same(kindOf(499, 'Canceled').slice(0, 2), ['timeout', 'unknown'])
  t.same(kindOf(500, 'InternalServiceFailure').slice(0, 2), ['unavailable', 'unknown'])
})
