import t from 'tap'
import { RawString } from '../../../../src/kernel/raw-string.ts'
import { parseLossless, sentJson } from '../../../../src/families/kit/http/json.ts'
import { fromTaskResponse } from '../../../../src/families/kit/task/wire.ts'
import { videoBWire as wire } from '../../../../src/families/video-b/upstream/wire.ts'

const scrub = (message: string): string => `[${message}]`

const task = (over: object = {}) => ({
  id: '424010985738629',
  model: 'Acme-H3',
  task_type: 'generation',
  modality: 'video',
  status: 'succeeded',
  created_at: 1_767_323_045,
  updated_at: 1_767_323_160,
  resolution: '768P',
  ratio: '16:9',
  duration: 6,
  content: { url: 'https://cdn.example.test/x.mp4?Expires=1' },
  usage: { total_seconds: 6, input_seconds: 0, output_seconds: 6, input_image_count: 1, more: 1 },
  ...over,
})

t.test('a creation is sent with its roles; uploaded files by upstream’s scheme', (t) => {
  const media = new RawString(Buffer.from(`data:video/mp4;base64,${'QUJD'.repeat(100_000)}`))
  const body = {
    content: [
      { type: 'text', text: 'media_file://1 stays text' },
      { type: 'image_url', role: 'first_frame', image_url: { url: 'media_file://77' } },
      { type: 'video_url', role: 'reference_video', video_url: { url: media } },
    ],
    duration: 6,
  }
  const submission = { model: 'Acme-H3', body, settings: {}, marker: 'ours' }
  t.equal(wire.createPath(submission), '/v2/video_generation')
  const sent = sentJson(wire.createBody(submission))
  const pieces = [...(sent.body as Iterable<Uint8Array>)]
  t.ok(
    pieces.some(({ buffer }) => buffer === media.pieces[0]?.buffer),
    'what is large is not copied',
  )
  const whole = Buffer.concat(pieces)
  t.equal(sent.headers['content-length'], String(whole.length))
  t.strictSame(JSON.parse(whole.toString()), {
    content: [
      body.content[0],
      { type: 'image_url', role: 'first_frame', image_url: { url: 'mm_file://77' } },
      { type: 'video_url', role: 'reference_video', video_url: { url: media.toString() } },
    ],
    duration: 6,
    model: 'Acme-H3',
  })
  t.end()
})

t.test('ids may come as numbers of any length', (t) => {
  t.equal(wire.readCreated({ task_id: '424010985738629' }), '424010985738629')
  t.equal(wire.readCreated(parseLossless('{"task_id":424010985738629}')), '424010985738629')
  t.equal(wire.readCreated(parseLossless('{"task_id":9223372036854775807}')), '9223372036854775807')
  for (const body of [{}, { task_id: '' }, { task_id: null }, { task_id: 1.5 }, null, 'x'])
    t.equal(wire.readCreated(body), undefined)
  t.equal(wire.taskPath('1/2'), '/v2/query/video_generation/1%2F2')
  t.strictSame(wire.cancelRequest?.('1'), { method: 'DELETE', path: '/v2/video_generation/1' })
  t.equal(
    wire.listPath({ page: 2, pageSize: 20 }),
    '/v2/query/video_generation?page_num=2&page_size=20',
  )
  t.end()
})

t.test('a task is read equally from its envelope and from a list', (t) => {
  const read = wire.readTask({ task: task(), base_resp: { status_code: 0 } }, scrub)
  t.strictSame(read, {
    nativeId: '424010985738629',
    status: 'succeeded',
    upstreamStatus: 'succeeded',
    upstreamModel: 'Acme-H3',
    usage: { input_seconds: 0, output_seconds: 6, total_seconds: 6, input_image_count: 1 },
    output: {
      task_type: 'generation',
      modality: 'video',
      resolution: '768P',
      ratio: '16:9',
      duration: 6,
    },
    urls: { url: 'https://cdn.example.test/x.mp4?Expires=1' },
    createdAtMs: 1_767_323_045_000,
    updatedAtMs: 1_767_323_160_000,
  })
  t.strictSame(wire.readTask(task(), scrub), read)
  t.match(
    wire.readTask(
      task({ status: 'failed', usage: {}, error: { code: '1026', message: 'm' } }),
      scrub,
    ),
    {
      status: 'failed',
      usage: undefined,
      error: { code: '1026', message: '[m]' },
    },
  )
  t.match(wire.readTask(task({ error: { code: 1026 } }), scrub)?.error, { code: '1026' })
  for (const [total_seconds, seconds] of [
    [5.04, 5],
    [5.5, 6],
    ['7', 7],
  ] as const)
    t.equal(
      wire.readTask(task({ usage: { total_seconds } }), scrub)?.usage?.['total_seconds'],
      seconds,
    )
  t.match(wire.readTask(task({ status: 'Succeeded' }), scrub), {
    status: 'succeeded',
    upstreamStatus: 'Succeeded',
  })
  t.match(wire.readTask(task({ status: 'Preparing' }), scrub), {
    status: 'unknown',
    upstreamStatus: 'Preparing',
  })
  for (const usage of [{ total_seconds: -1.5 }, { total_seconds: '-1' }, 'x', null, []])
    t.equal(wire.readTask(task({ usage }), scrub)?.usage, undefined)
  for (const body of [null, {}, { task: null }, { task: { id: '1' } }, { base_resp: {} }])
    t.equal(wire.readTask(body, scrub), undefined)
  t.match(wire.readList({ tasks: [task(), 1], total: '2' }), { items: { length: 2 }, total: 2 })
  t.equal(wire.readList({ base_resp: { status_code: 1000 } }), undefined)
  t.end()
})

t.test('errors are mapped by the number in their message', (t) => {
  const error = (message: string) => ({
    type: 'error',
    error: { type: 'x', message, http_code: '400' },
  })
  const kindOf = (statusCode: number, message: string) => {
    const {
      kind,
      acceptance,
      code,
      message: told,
    } = fromTaskResponse({ statusCode, headers: {} }, wire.readError(error(message)), scrub)
    return { kind, acceptance, code, told }
  }
  t.match(kindOf(400, 'invalid params, duration (2013)'), {
    kind: 'invalid',
    acceptance: 'ruled_out',
    code: '2013',
    told: '[invalid params, duration]',
  })
  t.match(kindOf(422, 'input content sensitive (1026)'), { kind: 'invalid', code: '1026' })
  t.match(kindOf(401, 'login fail (1004)'), { kind: 'account' })
  t.match(kindOf(402, 'insufficient balance (1008)'), { kind: 'account' })
  t.match(kindOf(400, 'invalid api key (2049)'), { kind: 'account', acceptance: 'ruled_out' })
  t.match(kindOf(429, 'rate limit (1002)'), { kind: 'rate_limited', acceptance: 'ruled_out' })
  t.match(kindOf(529, 'overloaded'), { kind: 'unavailable', acceptance: 'unknown' })
  t.match(kindOf(500, 'unknown error (1000)'), { kind: 'unavailable', acceptance: 'unknown' })
  for (const message of ['record not found (1000)', 'invalid params, invalid task_id (2013)'])
    t.equal(wire.readError(error(message))?.missing, true)
  t.equal(wire.readError(error('invalid params (2013)'))?.missing, false)
  t.equal(wire.readError('<html>'), undefined)
  t.end()
})
